import { type StatsFs, statfsSync } from 'node:fs'
import { Failure } from '../../failure.ts'
import { several, sizeOf } from '../../words.ts'
import { attempt } from '../patience.ts'
import type { Target } from './answers.ts'

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
