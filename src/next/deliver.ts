import { join } from 'node:path'
import { Failure, reasonOf } from '../failure.ts'
import type { OpenDirectory } from '../store/flush/directory.ts'
import { flushFiles } from '../store/flush/files.ts'
import { usedName } from '../store/names.ts'
import { type Messages, quote } from '../words.ts'
import type { Ready, Signals } from './ready.ts'
import type { Receipt } from './receipt.ts'
import { isOnScreen, isOutputClosed, writeOutput } from './standard-output.ts'

const SLOW =
  'the reader of standard output is slow or does not read: still waiting after 2 s; press Ctrl-C to stop'
const ON_SCREEN =
  'a secret is on the screen: clear the screen and its history; use | or > to send a profile to a device'
const NO_FLUSH =
  "this file system can't flush a directory: after a power cut, the profiles handed out last may be unused again; a local disk is safer"

export interface Delivery {
  readonly directory: string
  readonly keyPath: string
  readonly messages: Messages
  readonly signals: Signals
  readonly opened: OpenDirectory
  readonly receipt: Receipt | undefined
}

/**
 * Checks once more for problems that are visible before a claim.
 * @throws {Failure} `interrupted` or `disk`; in each case, nothing is claimed
 */
export function beforeClaim(signals: Signals): void {
  if (signals.stop.aborted) {
    throw new Failure('interrupted', 'interrupted; nothing was claimed', {
      hint: 'run the same command again',
    })
  }
  if (isOutputClosed()) {
    throw new Failure('disk', 'standard output is closed; nothing was claimed', {
      hint: 'connect standard output to the device programmer',
    })
  }
  signals.hold()
}

/**
 * Flushes the claims, then prints the profiles, one per line. The profiles are marked used, so every failure names
 * them.
 * @throws {Failure} `disk` or `interrupted`
 */
export async function deliver(taken: readonly Ready[], delivery: Delivery): Promise<void> {
  const { directory, messages, signals, opened, receipt } = delivery
  try {
    await flushFiles(taken.map((each) => usedPath(directory, each)))
    if (!opened.flushSync()) messages.warn(NO_FLUSH)
    receipt?.append(taken)
    await writeOutput(taken.map(({ line }) => `${line}\n`).join(''), signals.stop, () => messages.warn(SLOW))
  } catch (error) {
    throw undelivered(taken, delivery, error)
  }
  if (await isOnScreen()) messages.warn(ON_SCREEN)
}

export const usedPath = (directory: string, { name }: Ready) => join(directory, usedName(name))

function undelivered(
  taken: readonly Ready[],
  { keyPath, directory, messages, signals }: Delivery,
  error: unknown,
): Failure {
  const interrupted = signals.stop.aborted ? 'interrupted' : undefined
  const named = taken.map((each) => `${each.iccid} (${usedPath(directory, each)})`)
  const isOne = named.length === 1
  if (!isOne) for (const each of named) messages.warn(`claimed but not delivered: ${each}`)
  const what = isOne ? named[0] : `${named.length} profiles listed above`
  const again = `softsim next -k ${quote(keyPath)} -i ${quote(directory)} --iccid`
  return new Failure(
    interrupted ?? 'disk',
    `claimed but not delivered: ${what}: ${interrupted ?? reasonOf(error)}`,
    {
      hint: taken.every(({ device }) => device !== undefined)
        ? 'run the same command again: each device gets the same profile'
        : `to print ${isOne ? 'it' : 'each of them'} again: ${again} ${isOne ? taken[0]?.iccid : '<ICCID>'}`,
      cause: error,
    },
  )
}
