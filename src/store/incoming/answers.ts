import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { hostname, uptime } from 'node:os'
import { join } from 'node:path'
import { errnoOf } from '../../failure.ts'
import { iccidDigits } from '../../profile/iccid.ts'
import { attempt } from '../patience.ts'
import { fieldsOf } from '../used-file.ts'

export interface StoredProfile {
  readonly iccid: string
  readonly profile: string
}

/** The hidden directory in which answers are put aside until their profiles are published. */
export const INCOMING = '.incoming'

/**
 * The suffix of an answer: a directory with the answer in it, and the profiles on their way out of it. Whoever finishes
 * what another call has put aside takes the directory away first, and that call can't go on. Of version 1.1, a file.
 */
export const ANSWER = '.answer'

/** The suffix of the space that is reserved for a pending answer. */
export const RESERVE = '.reserve'

/** The suffix of a file without contents. In version 1.1, it marked a running fetch. */
export const FETCH_MARK = '.fetch'

/** The suffix of an answer that could not be read completely. It is kept for a person to inspect. */
export const DAMAGED = '.damaged'

/** The suffix of an answer that was taken away, and is put aside elsewhere. */
export const TAKEN = '.taken'

const NO_ANSWER = [DAMAGED, FETCH_MARK, RESERVE, TAKEN]

const SEPARATOR = '~'
const OURS = /^[^~]+~\d+~[0-9a-f-]{36}(\.\d+|\.answer|\.reserve|\.fetch|\.taken)$/
const ABANDONED_AFTER_MS = 10 * 60 * 1000
const LONGEST_FETCH_MS = 24 * 60 * 60 * 1000

export const incomingPath = (directory: string, name: string) => join(directory, INCOMING, name)

/** The path of the profiles of an answer, as they came. */
export const answerPath = (directory: string, answer: string) =>
  join(incomingPath(directory, answer + ANSWER), 'answer')

/** Without a suffix. */
export function newAnswerName(): string {
  return [ownHost(), process.pid, randomUUID()].join(SEPARATOR)
}

/** The names of all that is put aside in a directory. Links are not followed. */
export function incomingNames(directory: string): string[] {
  const place = join(directory, INCOMING)
  return attempt(() => (lstatSync(place).isDirectory() ? readdirSync(place) : [])) ?? []
}

/** Whether there is anything to store. */
export const hasIncoming = (directory: string): boolean =>
  incomingNames(directory).some((name) => !NO_ANSWER.some((ending) => name.endsWith(ending)))

/** Whether a call is storing profiles, or was killed. */
export const isStoring = (directory: string): boolean =>
  incomingNames(directory).some((name) => name.endsWith(ANSWER))

/** How many profiles are in the answers that are put aside. */
export const countReceived = (directory: string): number =>
  incomingNames(directory)
    .filter((name) => name.endsWith(ANSWER))
    .map((name) => incomingPath(directory, name))
    .flatMap((path) => [path, join(path, 'answer')])
    .reduce((sum, path) => sum + countIn(path), 0)

/** It may be stored and removed by now. */
const countIn = (path: string): number =>
  attempt(() =>
    lstatSync(path).isFile() ? parseAnswerFile(readFileSync(path, 'utf8')).profiles.length : 0,
  ) ?? 0

/** Where process numbers mean the same: one container of one machine. Names of machines are often not unique. */
const ownHost = () =>
  [hostname().replace(/[^A-Za-z0-9.-]/g, '-'), fingerprint()].filter((part) => part !== '').join('.')

function fingerprint(): string {
  if (process.platform !== 'linux') return ''
  const machine = attempt(() => readFileSync('/etc/machine-id', 'utf8'))
  const container = attempt(() => statSync('/proc/self/ns/pid').ino)
  return createHash('sha256').update([machine, container].join()).digest('hex').slice(0, 8)
}

/**
 * Whether the process that created a file is gone. Processes on another machine or in another container can't be
 * checked. Storing an answer takes seconds, so they count as gone when the file is ten minutes old.
 * @param ageMs time since the file was written, by the clock of its disk
 * @returns `dead` if this machine knows, `old` if the file is old
 */
export function isAbandoned(name: string, ageMs: number): 'dead' | 'old' | false {
  if (!OURS.test(name)) return false
  const [host, pid] = name.split(SEPARATOR)
  if (host === ownHost() && !isAlive(Number(pid))) return 'dead'
  const longest = name.endsWith(FETCH_MARK) || name.endsWith(RESERVE) ? LONGEST_FETCH_MS : ABANDONED_AFTER_MS
  const isBeforeStart = host === ownHost() && ageMs > uptime() * 1000
  return (isBeforeStart || Math.abs(ageMs) > longest) && 'old'
}

function isAlive(pid: number): boolean {
  if (pid === process.pid) return true
  // Other numbers stand for process groups.
  if (!Number.isSafeInteger(pid) || pid < 1) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return errnoOf(error) === 'EPERM'
  }
}

export const toFile = ({ iccid, profile }: StoredProfile) => JSON.stringify({ iccid, profile })

export const formatAnswer = (profiles: readonly StoredProfile[]) =>
  profiles.map((each) => `${toFile(each)}\n`).join('')

/** Ends an answer that is followed by the rest of its reserve: an empty line. */
export const END = '\n'
const LINE_FEED = 0x0a

/** For each profile that is requested. Enough for a key of 8192 bits. Version 1.0 reserved the same. */
export const BYTES_RESERVED = 1536

/** @returns 0 if the reserve is not whole: its call ended before it sent the request */
export function profilesReserved(bytes: number): number {
  const profiles = (bytes - END.length) / BYTES_RESERVED
  return Number.isInteger(profiles) && profiles > 0 ? profiles : 0
}

/**
 * An empty answer, then random bytes, which no disk can compress. If a power cut leaves some of them in the middle of
 * an answer, its lines must not look complete: the bytes contain no line break, and every sector contains bytes that
 * JSON does not allow in strings.
 * @param bytes the minimum length
 */
export function toReserve(bytes: number): Buffer {
  const length = END.length + bytes
  if (noise.length < length) noise = toNoise(length)
  return noise.subarray(0, length)
}

/** Made once: random bytes for each answer would cost `fetch` a twentieth of its time. */
let noise: Buffer = Buffer.alloc(0)

function toNoise(length: number): Buffer {
  const bytes = randomBytes(length)
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at)) bytes[at] = 0
  bytes.write(END)
  return bytes
}

export function parseAnswerFile(text: string): { profiles: StoredProfile[]; isComplete: boolean } {
  const lines = text.split('\n')
  // A line without a line break is incomplete, or belongs to the rest of the reserve.
  const profiles = lines.slice(0, -1).flatMap((line) => parseProfile(line) ?? [])
  // In an incomplete answer, the empty line is missing or is followed by more lines.
  const end = lines.indexOf('')
  return { profiles, isComplete: profiles.length === end && lines.length <= end + 2 }
}

/** The file may be foreign, and the ICCID becomes a file name, so it is checked. */
export function parseProfile(line: string): StoredProfile | undefined {
  const { iccid, profile } = fieldsOf(line)
  if (typeof iccid !== 'string' || typeof profile !== 'string') return undefined
  return iccidDigits(iccid) === undefined ? undefined : { iccid, profile }
}
