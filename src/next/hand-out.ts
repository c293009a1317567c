import type { KeyObject } from 'node:crypto'
import { fstat } from 'node:fs'
import { join } from 'node:path'
import type { Report } from '../cli/report.ts'
import { onInterrupt } from '../cli/signals.ts'
import { Failure, reasonOf } from '../failure.ts'
import { THREADS } from '../profile/decrypt.ts'
import type { HexOptions, Profile } from '../profile/profile.ts'
import { flushFiles, type OpenDirectory } from '../store/flush.ts'
import { hasIncoming } from '../store/incoming/answers.ts'
import { usedName } from '../store/names.ts'
import { openDirectory } from '../store/read.ts'
import { quote, several } from '../words.ts'
import { takeNamed } from './by-iccid.ts'
import type { Ready, Source } from './ready.ts'
import { isOutputClosed, writeOutput } from './standard-output.ts'
import { take } from './take.ts'

const NO_FLUSH =
  "this file system can't flush a directory: after a power cut, the profiles handed out last may be unused again; a local disk is safer"

export interface Handout {
  readonly key: KeyObject
  /** What the messages call the key. */
  readonly keyPath: string
  readonly directory: string
  /** How many profiles; 1 where one is named. */
  readonly count: number
  /** The one profile that is wanted, used or not; the next ones where it is undefined. */
  readonly iccid: string | undefined
  /** What is checked of the profiles: whatever a device would get. */
  readonly options: HexOptions
  /** Makes one line of a profile. */
  readonly encode: (profile: Profile) => string
  readonly env: NodeJS.ProcessEnv
  readonly report: Report
}

/**
 * Claims profiles, makes that durable, and only then prints them, one a line.
 * @throws {Failure} and has printed nothing, or told by name what was claimed and not delivered
 */
export async function handOut(handout: Handout): Promise<void> {
  const { key, directory, count, iccid, options, env, report } = handout
  // Read by libuv when it first needs a thread.
  if (count > 1) env['UV_THREADPOOL_SIZE'] ??= String(THREADS)
  // libuv gives up the whole process where it can't start its threads: let it do so before anything is claimed.
  fstat(0, () => {})
  let isClaimed = false
  // Released only where the call fails: from a delivered profile on, a signal changes nothing any more.
  const interrupt = onInterrupt(
    0,
    () => {},
    () => !isClaimed,
  )
  const beforeClaim = (ready: readonly Ready[]) => {
    checkDeliverable(ready, interrupt.stop)
    isClaimed = true
  }
  try {
    if (hasIncoming(directory)) await tryToFinishFetches(directory, report)
    const source = { directory, key, options, encode: handout.encode, report, beforeClaim }
    const opened = openDirectory(directory)
    const { taken, left } = iccid === undefined ? await take(source, count) : await takeOne(source, iccid)
    await deliver(taken, opened, handout, interrupt.stop)
    for (const each of taken) report.tell(1, `handed out ${each.iccid}, now ${usedPath(directory, each)}`)
    if (left === 0) report.tell(1, `no other unused profile is known in ${directory}`)
    else if (left !== undefined)
      report.tell(1, `at most ${several(left, 'unused profile')} left in ${directory}`)
  } catch (error) {
    interrupt.release()
    throw error
  }
}

async function takeOne(source: Source, iccid: string): Promise<{ taken: Ready[]; left?: number }> {
  const { ready, isAgain } = await takeNamed(source, iccid)
  if (isAgain) source.report.warn(`${ready.iccid} was handed out before: it must go into the same device`)
  return { taken: [ready] }
}

/** What can stop a profile from being delivered and is known before it is claimed. */
function checkDeliverable(ready: readonly Ready[], stop: AbortSignal): void {
  if (stop.aborted) throw new Failure('interrupted', 'interrupted; nothing was claimed')
  if (isOutputClosed()) {
    const which = ready.map(({ iccid }) => iccid).join(', ')
    throw new Failure('disk', `standard output is closed, so this was not claimed: ${which}`)
  }
}

/** From the claim on, whatever goes wrong must be told by name: the profiles are marked used. */
async function deliver(
  taken: readonly Ready[],
  opened: OpenDirectory,
  handout: Handout,
  stop: AbortSignal,
): Promise<void> {
  try {
    await flushFiles(
      handout.directory,
      taken.map(({ name }) => usedName(name)),
    )
    if (!opened.flushSync()) handout.report.warn(NO_FLUSH)
    await writeOutput(taken.map(({ line }) => `${line}\n`).join(''), stop)
  } catch (error) {
    throw undelivered(taken, handout, stop.aborted ? 'interrupted' : undefined, error)
  }
}

function undelivered(
  taken: readonly Ready[],
  { keyPath, directory, report }: Handout,
  interrupted: 'interrupted' | undefined,
  error: unknown,
): Failure {
  const told = taken.map((each) => `${each.iccid} (${usedPath(directory, each)})`)
  const isOne = told.length === 1
  if (!isOne) for (const each of told) report.warn(`claimed and not delivered: ${each}`)
  const what = isOne ? told[0] : `${told.length} profiles, see above`
  const again = `softsim next -k ${quote(keyPath)} -i ${quote(directory)} --iccid`
  return new Failure(
    interrupted ?? 'disk',
    `claimed and not delivered: ${what}: ${interrupted ?? reasonOf(error)}`,
    { hint: `to have it again: ${again} ${isOne ? taken[0]?.iccid : 'and its ICCID'}`, cause: error },
  )
}

const usedPath = (directory: string, { name }: Ready) => join(directory, usedName(name))

/** Profiles that an interrupted fetch received and could not store any more are unused profiles too. */
async function tryToFinishFetches(directory: string, report: Report): Promise<void> {
  try {
    const { finishFetches } = await import('../recovery.ts')
    await finishFetches(directory, report)
  } catch (error) {
    report.warn(`profiles that an interrupted fetch received can't be stored: ${reasonOf(error)}`)
  }
}
