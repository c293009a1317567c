/** What happens to profiles from just before their claim until the device has them. */
import { join } from 'node:path'
import { Failure, reasonOf } from '../failure.ts'
import { flushFiles, type OpenDirectory } from '../store/flush.ts'
import { usedName } from '../store/names.ts'
import { type Messages, quote } from '../words.ts'
import type { Ready, Signals } from './ready.ts'
import type { Receipt } from './receipt.ts'
import { isOutputClosed, writeOutput } from './standard-output.ts'

const NO_FLUSH =
  "this file system can't flush a directory: after a power cut, the profiles handed out last may be unused again; a local disk is safer"

/** Where the claimed profiles are, and what to call the key in a hint. */
export interface Delivery {
  readonly directory: string
  readonly keyPath: string
  readonly messages: Messages
  readonly signals: Signals
  readonly opened: OpenDirectory
  readonly receipt: Receipt | undefined
}

/**
 * Looks once more at what can stop a profile from being delivered and is known before it is claimed.
 * @throws {Failure} `interrupted` or `disk`; nothing is claimed then
 */
export function beforeClaim(ready: readonly Ready[], signals: Signals): void {
  if (signals.stop.aborted) throw new Failure('interrupted', 'interrupted; nothing was claimed')
  if (isOutputClosed()) {
    const which = ready.map(({ iccid }) => iccid).join(', ')
    throw new Failure('disk', `standard output is closed, so this was not claimed: ${which}`)
  }
  signals.hold()
}

/**
 * Flushes the claims and then prints the profiles, one a line. They are marked used: whatever goes wrong, they are told
 * by name.
 * @throws {Failure} `disk` or `interrupted`
 */
export async function deliver(taken: readonly Ready[], delivery: Delivery): Promise<void> {
  const { directory, messages, signals, opened, receipt } = delivery
  try {
    await flushFiles(
      directory,
      taken.map(({ name }) => usedName(name)),
    )
    if (!opened.flushSync()) messages.warn(NO_FLUSH)
    receipt?.append(directory, taken)
    await writeOutput(taken.map(({ line }) => `${line}\n`).join(''), signals.stop)
  } catch (error) {
    throw undelivered(taken, delivery, error)
  }
}

export const usedPath = (directory: string, { name }: Ready) => join(directory, usedName(name))

function undelivered(
  taken: readonly Ready[],
  { keyPath, directory, messages, signals }: Delivery,
  error: unknown,
): Failure {
  const interrupted = signals.stop.aborted ? 'interrupted' : undefined
  const told = taken.map((each) => `${each.iccid} (${usedPath(directory, each)})`)
  const isOne = told.length === 1
  if (!isOne) for (const each of told) messages.warn(`claimed and not delivered: ${each}`)
  const what = isOne ? told[0] : `${told.length} profiles, see above`
  const again = `softsim next -k ${quote(keyPath)} -i ${quote(directory)} --iccid`
  return new Failure(
    interrupted ?? 'disk',
    `claimed and not delivered: ${what}: ${interrupted ?? reasonOf(error)}`,
    { hint: `to have it again: ${again} ${isOne ? taken[0]?.iccid : 'and its ICCID'}`, cause: error },
  )
}
