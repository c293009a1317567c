/**
 * Leads what the program imports and asks of its process to the schedule: files, clock, process numbers, host, random
 * numbers, sleeps. Only modules below `src` are affected.
 */
import * as crypto from 'node:crypto'
import { registerHooks } from 'node:module'
import * as os from 'node:os'
import * as timers from 'node:timers/promises'
import { execution, isPause, RANDOMS, step } from './engine.ts'
import { fs, promises } from './fs.ts'

const SCHEME = 'softsim-schedule:'

/** A sleep is a step: others may go on meanwhile. */
function sleep(ms: number): void {
  step(`sleep ${ms} ms`, '', true, ({ world }) => {
    world.now += ms
  })
}

/** The last 20 digits of it are a tag, which says whose it is. */
function randomUUID(): string {
  const run = execution()
  const number = run === undefined ? 0 : RANDOMS * run.call.pid + run.randoms++
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
}

const builtins: Record<string, Record<string, unknown>> = {
  'node:fs': { ...fs, default: fs },
  'node:fs/promises': { ...promises, default: promises },
  'node:os': { ...os, hostname: () => 'station' },
  'node:crypto': { ...crypto, randomUUID },
  'node:timers/promises': {
    ...timers,
    setTimeout: async (ms: number, value: unknown) => {
      await null
      sleep(ms)
      return value
    },
  },
}

/** The process that the program sees while it is loaded. */
let platform: NodeJS.Platform = process.platform

/**
 * @param source the URL of the directory of the program's source, with a slash at its end
 * @param own what stands for modules of the program, by their paths
 */
export function install(source: string, own: Record<string, Record<string, unknown>>): void {
  const modules = new Map(Object.entries({ ...builtins, ...own }))
  Object.assign(globalThis, { softsimSchedule: modules })
  registerHooks({
    resolve(specifier, context, next) {
      const { parentURL = '' } = context
      if (!parentURL.startsWith(source)) return next(specifier, context)
      if (specifier in builtins) return { url: SCHEME + specifier, format: 'module', shortCircuit: true }
      if (!specifier.startsWith('.')) return next(specifier, context)
      const url = new URL(specifier, parentURL)
      const path = url.href.slice(source.length)
      if (path in own) return { url: SCHEME + path, format: 'module', shortCircuit: true }
      return next(url.href + new URL(parentURL).search, context)
    },
    load(url, context, next) {
      if (!url.startsWith(SCHEME)) return next(url, context)
      const name = url.slice(SCHEME.length)
      const { default: _, ...named } = modules.get(name) ?? {}
      const text = `const module = globalThis.softsimSchedule.get(${JSON.stringify(name)})
export default module.default ?? module
export const { ${Object.keys(named)} } = module`
      return { format: 'module', source: text, shortCircuit: true }
    },
  })
  replaceGlobals()
}

/** Loads a module of the program, as it is on a kind of disk: it may remember what it has learnt of that. */
export async function load(
  url: string,
  forPlatform: NodeJS.Platform,
  kind: string,
): Promise<Record<string, unknown>> {
  const own = platform
  platform = forPlatform
  try {
    return await import(`${url}?${kind}`)
  } finally {
    platform = own
  }
}

function replaceGlobals(): void {
  // Of several promises of a call that is paused, it may look at one only.
  process.on('unhandledRejection', (reason) => {
    if (!isPause(reason)) throw reason
  })
  const { pid } = process
  const RealDate = Date
  const { wait } = Atomics
  const now = () =>
    execution() === undefined ? RealDate.now() : step('now', '', false, ({ world }) => world.now)
  class ScheduledDate extends RealDate {
    constructor(...args: [] | [number]) {
      super(...((args.length === 0 ? [now()] : args) as [number]))
    }

    static override now = now
  }
  globalThis.Date = ScheduledDate as DateConstructor
  const { random } = Math
  Math.random = () => (execution() === undefined ? random() : 0.5)
  Object.defineProperties(process, {
    pid: { get: () => execution()?.call.pid ?? pid, configurable: true },
    platform: { get: () => execution()?.world.kind.platform ?? platform, configurable: true },
  })
  const waiting = (array: Int32Array, index: number, value: number, ms?: number) => {
    if (execution() === undefined) return wait(array, index, value, ms)
    sleep(ms ?? 0)
    return 'timed-out' as const
  }
  Object.defineProperty(Atomics, 'wait', { value: waiting, configurable: true })
}
