/**
 * What ended calls had requested and did not receive. The space that they reserved for the answer is still there, as it
 * was: its size says how many profiles were requested, and its time when.
 */
import { existsSync, lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Messages, several } from '../../words.ts'
import {
  ANSWER,
  answerPath,
  END,
  INCOMING,
  incomingPath,
  isAbandoned,
  namesIn,
  profilesReserved,
  RESERVE,
} from './answers.ts'

export interface Unanswered {
  readonly directory: string
  /** How many profiles the service may have allocated. */
  readonly profiles: number
  /** When the first and the last of them were requested, in milliseconds. */
  readonly firstMs: number
  readonly lastMs: number
}

/** Changes nothing, and goes by the clock of this machine: what another one left counts when it is a day old. */
export function findUnanswered(directory: string): Unanswered | undefined {
  const now = Date.now()
  const isEnded = (name: string) => {
    const status = statusOf(incomingPath(directory, name))
    return status !== undefined && isAbandoned(name, now - status.mtimeMs) !== false
  }
  return unansweredOf(directory, namesIn(join(directory, INCOMING)).filter(isEnded))
}

/** @param names what calls have left that have ended */
export function unansweredOf(directory: string, names: readonly string[]): Unanswered | undefined {
  const all = names.flatMap((name) => requestOf(directory, name) ?? [])
  if (all.length === 0) return undefined
  const times = all.map(({ ms }) => ms)
  const profiles = all.reduce((sum, each) => sum + each.profiles, 0)
  return { directory, profiles, firstMs: Math.min(...times), lastMs: Math.max(...times) }
}

export function warnOfUnanswered(unanswered: Unanswered, messages: Messages): void {
  const { directory, profiles, firstMs, lastMs } = unanswered
  const [first, last] = [firstMs, lastMs].map((ms) => new Date(ms).toISOString())
  const when = first === last ? `at ${first}` : `from ${first} to ${last}`
  messages.warn(
    `up to ${several(profiles, 'profile')} may have been allocated and not stored in ${directory}: a fetch was interrupted that had requested them ${when}`,
    'unanswered',
  )
}

function requestOf(directory: string, name: string): { profiles: number; ms: number } | undefined {
  const path = reservePath(directory, name)
  const status = path === undefined ? undefined : statusOf(path)
  const profiles = status?.isFile() ? profilesReserved(status.size) : 0
  return status === undefined || profiles === 0 ? undefined : { profiles, ms: status.mtimeMs }
}

/** A reserve becomes the answer by a rename, and nothing may be written over it yet. On FAT, both names can be left. */
function reservePath(directory: string, name: string): string | undefined {
  if (name.endsWith(ANSWER)) {
    const path = answerPath(directory, name.slice(0, -ANSWER.length))
    return [path, incomingPath(directory, name)].find(beginsAsReserve)
  }
  if (!name.endsWith(RESERVE) || existsSync(answerPath(directory, name.slice(0, -RESERVE.length))))
    return undefined
  return incomingPath(directory, name)
}

/** It may be gone, or a directory. */
function beginsAsReserve(path: string): boolean {
  try {
    return readFileSync(path, 'latin1').startsWith(END)
  } catch {
    return false
  }
}

/** It may be gone by now. */
function statusOf(path: string) {
  try {
    return lstatSync(path)
  } catch {
    return undefined
  }
}
