/**
 * Stands for `node:fs` in tests of what other calls do meanwhile, and of what a disk refuses:
 *
 *     vi.mock('node:fs', async () => (await import('./watched-fs.ts')).watchedFs)
 */

import { afterEach, vi } from 'vitest'

const fs = await vi.importActual<typeof import('node:fs')>('node:fs')

const NOTHING = {
  /** What happens right before a call of the file system, with its path (of a rename or a link, the new one). It may throw. */
  before: (_call: string, _path: string): unknown => undefined,
  /** And right after it. */
  after: (_call: string, _path: string): unknown => undefined,
  /** What statfs(2) says instead of the truth. */
  space: undefined as object | undefined,
  /** How far its clock is ahead. */
  clockMs: 0,
}

export const disk = { ...NOTHING }
afterEach(() => void Object.assign(disk, NOTHING))

/** What a system call that fails throws. */
export const systemError = (code: string) => Object.assign(new Error(code), { code })

/** From now on, calls of that name fail for paths that end like this. */
export function fail(call: RegExp, ending: RegExp | string, code = 'EIO'): void {
  const isMeant = (path: string) => (typeof ending === 'string' ? path.endsWith(ending) : ending.test(path))
  disk.before = (name, path) => {
    if (call.test(name) && isMeant(path)) throw systemError(code)
  }
}

/** Happens once, right before (or after) a call of that name for a path that ends like this. */
export function once(when: 'before' | 'after', call: string, ending: string, action: () => unknown): void {
  disk[when] = (name, path) => {
    if (name !== call || !path.endsWith(ending)) return
    disk[when] = () => {}
    action()
  }
}

/** By the name of each call: which of its arguments is the path. */
const CALLS = {
  ...{ lstatSync: 0, statSync: 0, openSync: 0, opendirSync: 0, unlinkSync: 0, mkdirSync: 0, rmdirSync: 0 },
  ...{ linkSync: 1, renameSync: 1, writeFileSync: 0, readFileSync: 0, readdirSync: 0 },
}

/** `open wx`, `open r`, `rename`, `look` and so on. */
function nameOf(call: string, flags: unknown): string {
  const name = call
    .replace(/Sync$/, '')
    .replace(/^l?stat$/, 'look')
    .replace('writeFile', 'write')
  return name === 'open' ? `open ${typeof flags === 'string' ? flags : 'r'}` : name
}

const watched = Object.fromEntries(
  Object.entries(CALLS).map(([call, at]) => [
    call,
    (...args: unknown[]) => {
      const [name, path] = [nameOf(call, args[1]), String(args[at])]
      try {
        disk.before(name, path)
      } catch (error) {
        const { throwIfNoEntry = true } = (args[1] ?? {}) as { throwIfNoEntry?: boolean }
        if (!throwIfNoEntry && (error as { code?: string }).code === 'ENOENT') return undefined
        throw error
      }
      const result = (fs[call as 'openSync'] as (...all: unknown[]) => unknown)(...args)
      disk.after(name, path)
      if (call === 'lstatSync' && result instanceof fs.Stats) result.mtimeMs += disk.clockMs
      return result
    },
  ]),
)
const changed = { ...fs, ...watched, statfsSync: (path: string) => disk.space ?? fs.statfsSync(path) }

export const watchedFs = { ...changed, default: changed }
