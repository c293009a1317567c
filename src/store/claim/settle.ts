/**
 * What becomes of a used file that has its unused file beside it: a call is claiming the profile, or was killed while it
 * did. The profile counts as used in any case.
 */
import { existsSync, lstatSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { reasonOf } from '../../failure.ts'
import { pause } from '../../pause.ts'
import type { Messages } from '../../words.ts'
import { settleFor } from '../devices/record.ts'
import { takeOneBack } from '../move/claim.ts'
import { keepDraft } from '../move/drafts.ts'
import { whoseIs } from '../move/journal.ts'
import { settledName, usedName } from '../names.ts'
import { removeSurplus } from './surplus.ts'
import { finish, takeOver } from './take-over.ts'
import { deviceIn, isTakenOver, type Tombstone, useOf } from './use.ts'

/** No claim takes this long between its steps, unless its process has ended or is suspended. */
const UNFINISHED_AFTER_MS = 60_000

/**
 * File times may come from another clock, and over NFS they are made up while a file is being created. So the files are
 * looked at twice.
 */
const SECOND_LOOK_MS = 1000

/**
 * Settles the claims of calls that were killed, as far as that is safe. It tells what it did.
 * @param twins unused files that have a used file beside them
 */
export function settle(directory: string, twins: readonly string[], messages: Messages): void {
  const before = new Map<string, Stats>()
  for (const name of twins) {
    const status = statusOf(directory, name)
    if (status !== undefined && isOld(status)) before.set(name, status)
  }
  if (before.size === 0) return
  pause(SECOND_LOOK_MS)
  for (const [name, status] of before) {
    if (isSame(status, statusOf(directory, name))) settleOne(directory, name, messages)
  }
}

/** Settles one claim at once. What can't be settled stays, and `status` counts it. */
export function settleOne(directory: string, name: string, messages: Messages): void {
  const iccid = name.replace(/\.json$/, '')
  try {
    const use = useOf(directory, name)
    if (use.state === 'unused' || use.state === 'gone') return
    if (use.state === 'moved') {
      settleMoved(directory, name, use.tombstone, messages)
      return
    }
    const outcome = use.state === 'used' ? use.state : takeOver(directory, name, true)
    if (outcome === 'used') settleComplete(directory, name, messages)
    else if (outcome === 'complete') settleComplete(directory, name, messages, true)
    else if (outcome !== 'left') warnOfUnprinted(iccid, messages)
    if (isReleasing(directory, name)) {
      const why = `${iccid} is set aside: a call did not finish releasing it`
      messages.warn(why, 'set-aside', settledName(name))
    }
  } catch (error) {
    messages.warn(`${iccid} is marked used, and its claim can't be settled: ${reasonOf(error)}`)
  }
}

/** While nothing is decided, only the move itself goes on. */
function settleMoved(directory: string, name: string, { move }: Tombstone, messages: Messages): void {
  const own = { id: move, source: directory }
  const whose = whoseIs(own)
  if (whose === 'source') takeOneBack(own, name, messages)
  else if (whose === 'target' && !isTakenOver(directory, name)) {
    keepDraft(own, name)
    removeSurplus(directory, name)
  }
}

/** @param isTaken whether the claim is taken over, by this call or by one that was killed */
function settleComplete(directory: string, name: string, messages: Messages, isTaken = false): void {
  const iccid = name.replace(/\.json$/, '')
  if (removeSurplus(directory, name)) {
    messages.tell(0, `${iccid} is used: ${name}, which was left beside its used file, is removed`)
    return
  }
  const use = useOf(directory, name)
  if (use.state !== 'used' || use.unused === undefined) return
  const device = deviceIn(use.text)
  if (settleFor(directory, name, use.text, isTaken)) {
    messages.warn(`${iccid} is the profile of device ${device}: a call for it was killed`, 'call-killed')
    return
  }
  // The device has another profile: whoever takes this one over may use it.
  if (isTaken) {
    if (finish(directory, name)) warnOfUnprinted(iccid, messages)
    return
  }
  const outcome = takeOver(directory, name, true)
  // Another call may have released it before that, and one for another device begun its own claim.
  if (outcome === 'complete') settleComplete(directory, name, messages, true)
  else if (outcome !== 'left') warnOfUnprinted(iccid, messages)
}

/** Nobody else may finish that: the call may only be suspended. */
const isReleasing = (directory: string, name: string) =>
  existsSync(join(directory, settledName(name))) &&
  !isTakenOver(directory, name) &&
  useOf(directory, name).unused !== undefined

const warnOfUnprinted = (iccid: string, messages: Messages) =>
  messages.warn(
    `${iccid} is marked used but was not printed: a call was killed while claiming it`,
    'unprinted',
    iccid,
  )

function statusOf(directory: string, name: string): Stats | undefined {
  try {
    return lstatSync(join(directory, usedName(name)))
  } catch {
    return undefined
  }
}

const isOld = ({ mtimeMs }: Stats) => Math.abs(Date.now() - mtimeMs) > UNFINISHED_AFTER_MS

const isSame = (before: Stats, now: Stats | undefined) =>
  now?.ino === before.ino && now.mtimeMs === before.mtimeMs && now.size === before.size
