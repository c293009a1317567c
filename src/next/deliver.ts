import { join } from 'node:path'
import { Failure, reasonOf } from '../failure.ts'
import type { OpenDirectory } from '../store/flush/flush.ts'
import { usedName } from '../store/names.ts'
import type { ReceiptFile } from '../store/receipts/append.ts'
import type { Messages } from '../words.ts'
import { asUnsure, type Ready, type Source } from './ready.ts'
import { isOnScreen, WriteFailure, writeOutput } from './standard-output.ts'
import type { Wish } from './take.ts'

const SLOW = 'the reader of standard output is slow or does not read: still waiting after 2 s'
const NO_FLUSH =
  "this file system can't flush a directory: after a power cut, the profiles handed out last may be unused again; a local disk is safer"

export interface Delivery extends Pick<Source, 'directory' | 'signals'>, Pick<Wish, 'iccid' | 'isNew'> {
  readonly keyPath: string
  /** Kept back until the profiles are delivered. */
  readonly messages: Messages
  /** Not kept back. */
  readonly urgent: Messages
  readonly opened: OpenDirectory
  readonly receipt: ReceiptFile | undefined
}

/**
 * Flushes the claims, then prints the profiles, one per line. The profiles are marked used, so every failure names
 * them, and says which ones a reader may have.
 * @throws {Failure} `disk` or `interrupted`
 */
export async function deliver(taken: readonly Ready[], delivery: Delivery): Promise<void> {
  const { directory, messages, urgent, signals, opened, receipt } = delivery
  // What is claimed by this call was flushed before it got its name.
  const again = taken.filter(({ isAgain }) => isAgain).map((each) => usedPath(directory, each))
  const isFlushed = await opened.flushWith(again).catch((error) => {
    // A power cut may undo a claim that can't be flushed: another call then delivers the profile.
    throw undelivered(taken.map(asUnsure), delivery, error)
  })
  if (!isFlushed) messages.warn(NO_FLUSH)
  try {
    receipt?.append(taken)
    await writeOutput(taken.map(lineOf).join(''), signals.stop, () => urgent.warn(SLOW, 'slow-reader'))
  } catch (error) {
    throw undelivered(taken, delivery, error)
  }
  if (await isOnScreen()) messages.warn('a secret is on the screen', 'on-screen')
}

export const usedPath = (directory: string, { name }: Pick<Ready, 'name'>) => join(directory, usedName(name))

const lineOf = ({ line }: Ready) => `${line}\n`

/** Names the profiles that are marked used and were not printed. */
export function undelivered(
  taken: readonly Ready[],
  { keyPath, directory, iccid, isNew, messages, signals, receipt }: Delivery,
  error: unknown,
): Failure {
  const unsure = taken.filter(({ isUnsure }) => isUnsure).length
  const maybe = error instanceof WriteFailure ? begun(taken, error.possible) : unsure
  const nameOf = (each: Ready) => `${each.iccid} (${usedPath(directory, each)})`
  if (taken.length > 1) {
    for (const each of taken.slice(0, maybe))
      messages.warn(`claimed and may have been delivered: ${nameOf(each)}`)
    for (const each of taken.slice(maybe)) messages.warn(`claimed but not delivered: ${nameOf(each)}`)
  }
  const iccids = taken.map((each) => each.iccid)
  const isForDevices = taken.every(({ device }) => device !== undefined)
  const call = { keyPath, directory, isNamed: iccid !== undefined, isNew, receipt: receipt?.path }
  const facts = { kind: 'undelivered', iccids, begun: maybe, isForDevices, call } as const
  const cause = signals.stop.aborted ? new Failure('interrupted', 'interrupted', error) : error
  return new Failure(facts, `${whatOf(taken.map(nameOf), maybe)}: ${reasonOf(cause)}`, cause)
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
