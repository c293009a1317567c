/** Whether a disk has room for profiles, and how that room is kept for an answer before it is requested. */
import { randomBytes } from 'node:crypto'
import { type StatsFs, statfsSync } from 'node:fs'
import { Failure, reasonOf } from '../../failure.ts'
import { several, sizeOf } from '../../words.ts'
import { attempt } from '../patience.ts'
import { createAnswer, END, newName, removeAnswer, type Target } from './answers.ts'

/** Of a profile on disk, both put aside and published: one or two blocks each. */
const MOST_BYTES = 16 * 1024

/** What no file system needs less for. The text of a profile with a key of 4096 bits has 700 bytes. */
const LEAST_BYTES = 1024

/** Larger blocks are not of a disk: network file systems report how much they transfer at once. */
const MOST_BLOCK = 128 * 1024

/** Some file systems have no limit on files. They report about a billion files, none of them free. */
const MADE_UP_FILES = 900_000_000

/**
 * Checks that there can be space for a whole order. How much it takes depends on the file system, so this is the least.
 * @throws {Failure} `space-for-order`
 */
export function checkSpaceForOrder({ directory }: Target, profiles: number): void {
  const shortage = shortageOf(statusOf(directory), profiles, LEAST_BYTES)
  refuse(
    'space-for-order',
    `${several(profiles, 'profile')} in ${directory}`,
    shortage && `at least ${shortage}`,
  )
}

/** @throws {Failure} `space-for-batch` */
export function checkSpaceForBatch({ directory }: Target, profiles: number): void {
  const shortage = shortageOf(statusOf(directory), profiles, MOST_BYTES)
  refuse('space-for-batch', `${several(profiles, 'more profile')} in ${directory}`, shortage)
}

/**
 * The same for profiles that are moved there, in whole blocks: a move can't be taken back once it gives.
 * @param atOnce how many are put aside together
 * @throws {Failure} `space-for-move`
 */
export function checkSpaceForMove({ directory }: Target, profiles: number, atOnce: number): void {
  if (profiles <= 0) return
  const status = statusOf(directory)
  const putAside = (LEAST_BYTES * Math.min(profiles, atOnce)) / profiles
  const block = status?.bsize ?? 0
  const stored = block > 0 && block <= MOST_BLOCK ? Math.ceil(LEAST_BYTES / block) * block : LEAST_BYTES
  const shortage = shortageOf(status, profiles, stored + putAside)
  refuse('space-for-move', `${several(profiles, 'profile')} in ${directory}`, shortage)
}

function refuse(
  kind: 'space-for-order' | 'space-for-batch' | 'space-for-move',
  what: string,
  shortage: string | undefined,
): void {
  if (shortage !== undefined) throw new Failure(kind, `not enough disk space for ${what}: ${shortage}`)
}

const statusOf = (directory: string) => attempt(() => statfsSync(directory))

/** @returns undefined if there is space, or if the file system reports nothing plausible: then writing will tell */
export function shortageOf(
  status: StatsFs | undefined,
  profiles: number,
  bytesAProfile: number,
): string | undefined {
  if (status === undefined) return undefined
  const { bavail, blocks, bsize, ffree, files } = status
  const [needed, free] = [profiles * bytesAProfile, bavail * bsize]
  if (blocks > 0 && bsize > 0 && free < needed) return `${sizeOf(needed)} needed, ${sizeOf(free)} free`
  const isMadeUp = files === 0 || (ffree === 0 && files >= MADE_UP_FILES)
  return isMadeUp || ffree >= profiles ? undefined : `${several(profiles, 'file')} needed, ${ffree} free`
}

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

const LINE_FEED = 0x0a

/** Made once: random bytes for each answer would cost `fetch` a twentieth of its time. */
let noise: Buffer = Buffer.alloc(0)

function toNoise(length: number): Buffer {
  const bytes = randomBytes(length)
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at)) bytes[at] = 0
  bytes.write(END)
  return bytes
}

/**
 * Makes the place of an answer, with the space for it.
 * @returns the name of the answer
 * @throws {Failure} `disk`
 */
export async function reserve(target: Target, profiles: number): Promise<string> {
  const answer = newName()
  try {
    await createAnswer(target, answer, toReserve(profiles * BYTES_RESERVED))
    return answer
  } catch (error) {
    removeAnswer(target, answer)
    const facts = { kind: 'no-reserve', count: profiles } as const
    throw new Failure(facts, `can't reserve disk space in ${target.directory}: ${reasonOf(error)}`, error)
  }
}
