/** A directory that receives profiles: made, checked, and removed again if it was made for nothing. */
import { lstatSync, mkdirSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join, normalize, parse } from 'node:path'
import { Failure, reasonOf } from '../../failure.ts'
import { rightsOf } from '../directory-entries.ts'
import { flushDirectory } from '../flush/flush.ts'
import { FileSystemFlush } from '../flush/whole-file-system.ts'
import { forget, introduce } from '../identity.ts'
import { hasFillers, hasProfiles } from '../listing.ts'
import { attempt } from '../patience.ts'
import { INCOMING, probe, type Target } from './answers.ts'

export interface OpenTarget extends Target {
  /** The directories that were made for it, the deepest first. */
  readonly made: readonly string[]
  /** Without directory flushes, a power cut may undo what is stored. */
  readonly canFlush: boolean
}

/** @throws the system error of stat(2) */
export function targetOf(path: string): Target {
  const directory = normalize(path)
  return { directory, rights: rightsOf(directory) }
}

/**
 * Makes a directory unless it is there, and checks that files can be put aside in it, before profiles are paid for.
 * @throws {Failure} `unwritten-directory`
 */
export async function openTarget(path: string): Promise<OpenTarget> {
  try {
    const made = await makeDirectory(normalize(path))
    const target = targetOf(path)
    const { directory } = target
    const { hasLinks } = probe(target)
    // One that has profiles and does not know itself may be a copy.
    if (!hasAny(directory)) introduce(directory)
    // Also if another call made the place for answers: it may have been killed before this flush.
    const canFlush = await flushDirectory(directory)
    const fileSystem = new FileSystemFlush(directory)
    return { ...target, made, canFlush, fileSystem, hasLinks, hasFillers: hasFillers(directory) }
  } catch (error) {
    const facts = { kind: 'unwritten-directory', directory: path } as const
    throw new Failure(facts, `can't write to the directory ${path}: ${reasonOf(error)}`, error)
  }
}

/**
 * Node's recursive mkdir reports a misleading reason when it fails.
 * @returns the directories that were made, the deepest first
 * @throws {Error} with the reason
 */
export async function makeDirectory(path: string): Promise<string[]> {
  const above = dirname(path)
  const made = above !== path && !isDirectory(above) ? await makeDirectory(above) : []
  try {
    mkdirSync(path, { mode: 0o700 })
    made.unshift(path)
  } catch (error) {
    if (!isDirectory(path)) throw whyNoDirectory(path, error)
  }
  // Also if it already exists: the call that made it may have been killed before this flush.
  for (const place of [above, dirname(above)]) await flushDirectory(place).catch(() => {})
  return made
}

const hasAny = (directory: string) => [false, true].some((areUsed) => hasProfiles(directory, areUsed))

/** Directories that were made for nothing go again. */
export function closeTarget({ directory, made }: OpenTarget): void {
  if (!made.includes(directory) || hasAny(directory)) return
  attempt(() => {
    rmdirSync(join(directory, INCOMING))
    forget(directory)
    for (const each of made) rmdirSync(each)
  })
}

export const isDirectory = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

function whyNoDirectory(path: string, error: unknown): unknown {
  // Windows reports the same error for every path on a missing drive or share.
  if (parse(path).root === path) return new Error(`drive or share ${path} does not exist`)
  const status = lstatSync(path, { throwIfNoEntry: false })
  if (status === undefined) return error
  return new Error(`${path} ${status.isSymbolicLink() ? 'is a broken link' : 'is not a directory'}`)
}
