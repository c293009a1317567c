/**
 * Leads what the program imports and asks of its process to the schedule: files, clock, process numbers, host, random
 * numbers, sleeps; its keys and its standard output. Only modules below `src` are affected.
 */
import * as crypto from 'node:crypto'
import { registerHooks } from 'node:module'
import * as os from 'node:os'
import * as timers from 'node:timers/promises'
import { execution, HarnessError, isPause, NONCES, step } from './engine.ts'
import { fs, promises } from './fs.ts'
import { RECEIPTS } from './names.ts'

const SCHEME = 'softsim-schedule:'
const UPTIME_S = 1_000_000

/** A sleep is a step: others may go on meanwhile. */
function sleep(ms: number): void {
  step(`sleep ${ms} ms`, '', true, ({ world }) => {
    world.now += ms
  })
}

function randomUUID(): string {
  const run = execution()
  const number = run === undefined ? 0 : NONCES * run.call.pid + run.randoms++
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
}

/** Without a line feed in it. */
const randomBytes = (length: number) => Buffer.alloc(length, 1)

const hostname = () => 'station'

const builtins: Record<string, Record<string, unknown>> = {
  'node:fs': { ...fs, default: fs },
  'node:fs/promises': { ...promises, default: promises },
  'node:os': { ...os, hostname, uptime: () => UPTIME_S },
  'node:crypto': { ...crypto, randomUUID, randomBytes },
  'node:timers/promises': {
    ...timers,
    setTimeout: async (ms: number, value: unknown) => {
      await null
      sleep(ms)
      return value
    },
  },
}

/** Prints a profile: the lines of `--format=raw`. Whether it is one again is in the receipt. */
async function writeOutput(text: string): Promise<void> {
  await null
  step('print', '', true, ({ world, call }) => {
    const receipts = world.disk.at(`${RECEIPTS}/${call.id}`)?.content.toString().trimEnd().split('\n') ?? []
    for (const line of text.trimEnd().split('\n')) {
      const { iccid } = JSON.parse(line)
      const { device, again } = JSON.parse(receipts.findLast((each) => each.includes(iccid)) ?? '{}')
      const whose = { iccid, device: device ?? undefined, isAgain: again === true }
      world.prints.push({ call: call.id, ...whose, owners: world.ownersOf(iccid) })
    }
  })
}

/** The ciphertext of a test profile is its plaintext. */
const decryptor = async () => async (ciphertext: Buffer) => ciphertext

class FileSystemFlush {
  isFor = async () => execution()?.world.kind.hasWholeFlush !== undefined

  async flush(): Promise<boolean> {
    if (execution()?.world.kind.hasWholeFlush !== true) return false
    step('flush all', '', true, ({ world }) => world.disk.flushAll())
    return true
  }
}

const OWN: Record<string, Record<string, unknown>> = {
  'key/private-key.ts': { readKey: () => ({}) },
  'key/decrypt.ts': { decryptor, THREADS: 1, wrongKey: () => {}, wrongKeyFacts: () => {} },
  'next/standard-output.ts': {
    writeOutput,
    isOutputClosed: () => false,
    isOnScreen: async () => false,
    WriteFailure: class extends Error {},
  },
  'store/flush/whole-file-system.ts': { FileSystemFlush },
}

/** The process that the program sees while it is loaded. */
let platform: NodeJS.Platform = process.platform

/** @param source the URL of the directory of the program's source, with a slash at its end */
export function install(source: string): void {
  const modules = new Map(Object.entries({ ...builtins, ...OWN }))
  Object.assign(globalThis, { softsimSchedule: modules })
  registerHooks({
    resolve(specifier, context, next) {
      const { parentURL = '' } = context
      if (!parentURL.startsWith(source)) return next(specifier, context)
      if (specifier in builtins) return { url: SCHEME + specifier, format: 'module', shortCircuit: true }
      if (!specifier.startsWith('.')) return next(specifier, context)
      const url = new URL(specifier, parentURL)
      const path = url.href.slice(source.length)
      if (path in OWN) return { url: SCHEME + path, format: 'module', shortCircuit: true }
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

/** Loads a module of the program for a platform. */
export async function load(url: string, forPlatform: NodeJS.Platform): Promise<Record<string, unknown>> {
  const own = platform
  platform = forPlatform
  try {
    return await import(`${url}?${forPlatform}`)
  } finally {
    platform = own
  }
}

function replaceGlobals(): void {
  // Of several promises of a call that is paused, it may look at one only.
  process.on('unhandledRejection', (reason) => {
    if (!isPause(reason)) throw reason
  })
  const { pid, kill } = process
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
  Object.defineProperties(process, {
    pid: { get: () => execution()?.call.pid ?? pid, configurable: true },
    platform: { get: () => execution()?.world.kind.platform ?? platform, configurable: true },
  })
  process.kill = (to, signal) => {
    if (execution() === undefined) return kill.call(process, to, signal)
    if (signal !== 0) throw new HarnessError('the scheduler has no signals')
    const isAlive = step('is alive', String(to), false, ({ world }) => world.isAlive(to))
    if (!isAlive) throw Object.assign(new Error('ESRCH'), { code: 'ESRCH' })
    return true
  }
  const waiting = (array: Int32Array, index: number, value: number, ms?: number) => {
    if (execution() === undefined) return wait(array, index, value, ms)
    sleep(ms ?? 0)
    return 'timed-out' as const
  }
  Object.defineProperty(Atomics, 'wait', { value: waiting, configurable: true })
}
