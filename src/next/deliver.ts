import { join } from 'node:path'
import { errnoOf, Failure, reasonOf, remedyFor } from '../failure.ts'
import type { OpenDirectory } from '../store/flush/directory.ts'
import { flushFiles } from '../store/flush/files.ts'
import { usedName } from '../store/names.ts'
import type { Receipt } from '../store/receipt.ts'
import { type Messages, quote } from '../words.ts'
import type { Ready, Signals } from './ready.ts'
import { isOnScreen, WriteFailure, writeOutput } from './standard-output.ts'

const SLOW =
  'the reader of standard output is slow or does not read: still waiting after 2 s; press Ctrl-C to stop'
const ON_SCREEN =
  'a secret is on the screen: clear the screen and its history; use | or > to send a profile to a device'
const NO_FLUSH =
  "this file system can't flush a directory: after a power cut, the profiles handed out last may be unused again; a local disk is safer"

export interface Delivery {
  readonly directory: string
  readonly keyPath: string
  /** The profile that the call names. */
  readonly iccid: string | undefined
  /** Kept back until the profiles are delivered. */
  readonly messages: Messages
  /** Not kept back. */
  readonly urgent: Messages
  readonly signals: Signals
  readonly opened: OpenDirectory
  readonly receipt: Receipt | undefined
}

/**
 * Flushes the claims, then prints the profiles, one per line. The profiles are marked used, so every failure names
 * them, and says which ones a reader may have.
 * @throws {Failure} `disk` or `interrupted`
 */
export async function deliver(taken: readonly Ready[], delivery: Delivery): Promise<void> {
  const { directory, messages, urgent, signals, opened, receipt } = delivery
  try {
    await flushFiles(taken.map((each) => usedPath(directory, each)))
    if (!opened.flushSync()) messages.warn(NO_FLUSH)
    receipt?.append(taken)
    await writeOutput(taken.map(lineOf).join(''), signals.stop, () => urgent.warn(SLOW))
  } catch (error) {
    throw undelivered(taken, delivery, error)
  }
  if (await isOnScreen()) messages.warn(ON_SCREEN)
}

export const usedPath = (directory: string, { name }: Pick<Ready, 'name'>) => join(directory, usedName(name))

const lineOf = ({ line }: Ready) => `${line}\n`

/** Names the profiles that are marked used and were not printed. */
export function undelivered(
  taken: readonly Ready[],
  { keyPath, directory, iccid, messages, signals, receipt }: Delivery,
  error: unknown,
): Failure {
  const interrupted = signals.stop.aborted ? 'interrupted' : undefined
  const maybe = begun(taken, error instanceof WriteFailure ? error.possible : 0)
  const nameOf = (each: Ready) => `${each.iccid} (${usedPath(directory, each)})`
  const isOne = taken.length === 1
  if (!isOne) {
    for (const each of taken.slice(0, maybe))
      messages.warn(`claimed and may have been delivered: ${nameOf(each)}`)
    for (const each of taken.slice(maybe)) messages.warn(`claimed but not delivered: ${nameOf(each)}`)
  }
  const withReceipt = receipt === undefined ? '' : ` --receipt ${quote(receipt.path)}`
  const again = `softsim next -k ${quote(keyPath)} -i ${quote(directory)} --iccid ${isOne ? taken[0]?.iccid : '<ICCID>'}${withReceipt}`
  return new Failure(
    interrupted ?? (error instanceof Failure ? error.outcome : 'disk'),
    `${whatOf(taken.map(nameOf), maybe)}: ${interrupted ?? reasonOf(error)}`,
    {
      hint: [...remedy(error), ...notAgain(taken, iccid), hintOf(taken, maybe, again)].join('; '),
      cause: error,
    },
  )
}

/** What helps against a full or a broken disk. */
function remedy(error: unknown): string[] {
  const cause = error instanceof Error && errnoOf(error) === undefined ? error.cause : error
  return ['ENOSPC', 'EDQUOT', 'EROFS', 'EFBIG'].includes(errnoOf(cause) ?? '') ? [remedyFor(cause)] : []
}

/** Without a device or an ICCID, the same command would use up one profile after the other. */
function notAgain(taken: readonly Ready[], iccid: string | undefined): string[] {
  if (iccid !== undefined || taken.every(({ device }) => device !== undefined)) return []
  return [
    `do not run the same command again: it takes ${taken.length === 1 ? 'another profile' : 'other profiles'}`,
  ]
}

/** How many of the lines a reader may have begun to read. A line that is cut off can be enough for a device. */
function begun(taken: readonly Ready[], bytes: number): number {
  let start = 0
  return taken.filter((each) => {
    const isBegun = start < bytes
    start += Buffer.byteLength(lineOf(each))
    return isBegun
  }).length
}

function whatOf(named: readonly string[], maybe: number): string {
  const [count, not] = [named.length, named.length - maybe]
  const which = count === 1 ? named[0] : `${count} profiles listed above`
  if (not === 0) return `claimed and may have been delivered: ${which}`
  if (maybe === 0) return `claimed but not delivered: ${which}`
  return `claimed but not delivered: ${not} of ${which}; the first ${maybe} may have been delivered`
}

function hintOf(taken: readonly Ready[], maybe: number, again: string): string {
  if (taken.every(({ device }) => device !== undefined))
    return 'run the same command again: each device gets the same profile'
  if (maybe === 0) return `to print ${taken.length === 1 ? 'it' : 'each of them'} again: ${again}`
  if (taken.length === 1) return `find out whether a device has it; if none has it, print it again: ${again}`
  return maybe < taken.length
    ? `to print each that was not delivered again: ${again}; the first ${maybe} only if no device has them`
    : `find out which of them a device has; to print each of the others again: ${again}`
}
