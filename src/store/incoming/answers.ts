import { randomBytes, randomUUID } from 'node:crypto'
import { lstatSync, readdirSync } from 'node:fs'
import { hostname, uptime } from 'node:os'
import { join } from 'node:path'
import { iccidDigits } from '../../profile/iccid.ts'

/** One profile as its file holds it. */
export interface StoredProfile {
  readonly iccid: string
  readonly profile: string
}

/** Where answers of the service are put aside until their profiles are published: hidden, in the directory. */
export const INCOMING = '.incoming'

/** What ends the name of a whole answer; what else is there is a profile on its way out of one. */
export const ANSWER = '.answer'

/** What ends the name of the room that is kept for an answer while it is asked for. */
export const RESERVE = '.reserve'

/** What ends the name of the file that says a fetch is at work. */
export const FETCH_MARK = '.fetch'

/** What ends the name of an answer that could not be read to its end; it is kept for a person to look at. */
export const DAMAGED = '.damaged'

/** What holds nothing that could be published. */
const NO_ANSWER = [DAMAGED, FETCH_MARK, RESERVE]

const SEPARATOR = '~'
const OURS = /^[^~]+~\d+~[0-9a-f-]{36}(\.\d+|\.answer|\.reserve|\.fetch)$/
const ABANDONED_AFTER_MS = 10 * 60 * 1000
const LONGEST_FETCH_MS = 24 * 60 * 60 * 1000

export const incomingPath = (directory: string, name: string) => join(directory, INCOMING, name)

/** A new name for an answer, without its ending: it tells whose it is. */
export function newAnswerName(): string {
  return [ownHost(), process.pid, randomUUID()].join(SEPARATOR)
}

/** Whether there is anything that was put aside, in a directory of ours and not behind a link; quick. */
export function hasIncoming(directory: string): boolean {
  const place = join(directory, INCOMING)
  try {
    return (
      lstatSync(place).isDirectory() &&
      readdirSync(place).some((name) => !NO_ANSWER.some((ending) => name.endsWith(ending)))
    )
  } catch {
    return false
  }
}

const ownHost = () => hostname().replace(/[^A-Za-z0-9.-]/g, '-')

/**
 * Whether the process that put something aside is gone, by the name it gave it. Of another machine's process nobody
 * can tell; storing an answer takes seconds, so after ten minutes it is taken for gone, and after a restart at once.
 * @param ageMs since it was written
 */
export function isAbandoned(name: string, ageMs: number): boolean {
  if (!OURS.test(name)) return false
  const longest = name.endsWith(FETCH_MARK) || name.endsWith(RESERVE) ? LONGEST_FETCH_MS : ABANDONED_AFTER_MS
  if (Math.abs(ageMs) > longest || ageMs > uptime() * 1000) return true
  const [host, pid] = name.split(SEPARATOR)
  return host === ownHost() && !isAlive(Number(pid))
}

function isAlive(pid: number): boolean {
  if (pid === process.pid) return true
  // Other numbers mean groups of processes.
  if (!Number.isSafeInteger(pid) || pid < 1) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** What a profile's file holds: the profile as the service sent it. */
export const toFile = ({ iccid, profile }: StoredProfile) => JSON.stringify({ iccid, profile })

/** An answer as it is put aside: one profile a line. */
export const formatAnswer = (profiles: readonly StoredProfile[]) =>
  profiles.map((each) => `${toFile(each)}\n`).join('')

/** The end of an answer, where what is left of its reserve still follows: an empty line. */
export const END = '\n'
const LINE_FEED = 0x0a

/**
 * What a reserve holds: an answer of no profiles, then random bytes, which no disk makes smaller. Where a power cut
 * leaves some of them amid an answer, its lines must not look whole: there is no line break among them, and what JSON
 * allows in no string is in every sector.
 * @param bytes how many, at least
 */
export function toReserve(bytes: number): Buffer {
  const room = randomBytes(END.length + bytes)
  for (let at = room.indexOf(LINE_FEED); at !== -1; at = room.indexOf(LINE_FEED, at)) room[at] = 0
  room.write(END)
  return room
}

/** The profiles of an answer that was put aside, and whether all of it could be read. */
export function parseAnswerFile(text: string): { profiles: StoredProfile[]; isWhole: boolean } {
  const lines = text.split('\n')
  // What has no line break is not whole, or is left of the reserve.
  const profiles = lines.slice(0, -1).flatMap((line) => parseProfile(line) ?? [])
  // After an answer that was not written to its end, there is no empty line, or lines come after it.
  const end = lines.indexOf('')
  return { profiles, isWhole: profiles.length === end && lines.length <= end + 2 }
}

/** What `toFile` made. The file may not be ours: an ICCID becomes a file's name, and must be one. */
export function parseProfile(line: string): StoredProfile | undefined {
  try {
    const { iccid, profile } = JSON.parse(line)
    if (typeof iccid !== 'string' || typeof profile !== 'string') return undefined
    return iccidDigits(iccid) === undefined ? undefined : { iccid, profile }
  } catch {
    return undefined
  }
}
