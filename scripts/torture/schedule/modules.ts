/** What stands for the modules `node:fs` and `node:fs/promises`: what fs.ts has, and nothing else. */
import * as realFs from 'node:fs'
import * as realPromises from 'node:fs/promises'
import { execution, HarnessError } from './engine.ts'
import { files } from './fs.ts'

/** Functions that no call has needed so far are refused. */
function refused(all: object): Record<string, unknown> {
  const entries = Object.entries(all).map(([name, value]) => {
    if (typeof value !== 'function' || /^[A-Z]/.test(name)) return [name, value]
    return [
      name,
      () => {
        throw execution()?.world.fail(`the scheduler has no ${name}`) ?? new HarnessError(name)
      },
    ]
  })
  return Object.fromEntries(entries)
}

const later =
  <A extends unknown[], T>(action: (...args: A) => T) =>
  async (...args: A): Promise<T> => {
    await null
    return action(...args)
  }

const promised = Object.fromEntries(
  Object.entries(files)
    .filter(([name]) => name.endsWith('Sync'))
    .map(([name, action]) => [name.slice(0, -4), later(action as (...args: unknown[]) => unknown)]),
)

export const promises: Record<string, unknown> = { ...refused(realPromises), ...promised }

export const fs: Record<string, unknown> = {
  ...refused(realFs),
  ...files,
  constants: realFs.constants,
  promises,
}
