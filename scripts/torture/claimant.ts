/** One station of claim.ts, a process of its own: it is sent a turn, goes through the files and answers what it won. */
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { reasonOf } from '../../src/failure.ts'
import { pause } from '../../src/pause.ts'
import { claimAll, comeBack, nextName, usedText } from '../../src/store/claim.ts'
import { readProfile } from '../../src/store/read.ts'
import { fieldsOf } from '../../src/store/used-file.ts'

async function claimAsNext(directory: string, name: string): Promise<boolean> {
  const stored = readProfile(directory, name)
  // What is not written completely yet does not decrypt.
  if (stored === undefined || fieldsOf(stored)['profile'] === undefined) return false
  const [outcome] = await claimAll(directory, [usedText({ name, stored })])
  if (outcome !== undefined && 'error' in outcome) throw outcome.error
  return outcome?.state === 'ours'
}

/** What a station does to a file, and whether it has won it then. */
const WAYS = {
  claim: claimAsNext,
  /** The public tool of the service's vendor. */
  'bare rename': async (directory: string, name: string) => {
    try {
      renameSync(join(directory, name), join(directory, `__${name}`))
      return true
    } catch {
      return false
    }
  },
  /** What is claimed comes back, and whoever is first then keeps it. */
  back: async (directory: string, name: string) => {
    const stored = readProfile(directory, name)
    if (stored !== undefined && (await claimAsNext(directory, name)))
      await comeBack(directory, [{ name, stored }])
    return claimAsNext(directory, nextName(name))
  },
} satisfies Record<string, (directory: string, name: string) => Promise<boolean>>

export type Way = keyof typeof WAYS

export interface Turn {
  /** The directory as this station sees it. */
  readonly directory: string
  readonly way: Way
  readonly names: readonly string[]
  /** When each file is tried at the earliest, in milliseconds since 1970. */
  readonly at: readonly number[]
}

export interface Outcome {
  readonly won: string[]
  /** What was thrown at each call that failed. */
  readonly failures: string[]
  readonly milliseconds: number
}

/** The clock that processes have in common, with parts of a millisecond. */
export const now = () => performance.timeOrigin + performance.now()

/** Slept through, but for the end: nobody wakes up to the microsecond. */
const WATCHED_MS = 2

function waitUntil(time: number): void {
  const ahead = time - now() - WATCHED_MS
  if (ahead > 0) pause(ahead)
  while (now() < time);
}

async function play({ directory, way, names, at }: Turn): Promise<Outcome> {
  const won: string[] = []
  const failures: string[] = []
  waitUntil(at[0] ?? 0)
  const began = now()
  for (const [index, name] of names.entries()) {
    waitUntil(at[index] ?? 0)
    try {
      if (await WAYS[way](directory, name)) won.push(name)
    } catch (error) {
      failures.push(error instanceof Error ? error.message : reasonOf(error))
    }
  }
  return { won, failures, milliseconds: now() - began }
}

process.on('message', async (turn: Turn) => process.send?.(await play(turn)))
