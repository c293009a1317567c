import { lstatSync } from 'node:fs'
import { UnusableProfile } from '../../failure.ts'
import { CLAIMS, keyOfName } from '../claim-place.ts'
import { exists } from '../directory-entries.ts'
import { flushUnlessGone } from '../flush/flush.ts'
import { fileName, hasFiller, pathIn, spellings, usedName } from '../names.ts'
import { readProfile } from '../read.ts'
import { parseProfile } from './answers.ts'
import type { Target } from './target-directory.ts'

export interface Added {
  readonly stored: string[]
  /** Already in the directory, used or unused. They are left unchanged. */
  readonly known: string[]
}

/** In the order in which a claim goes, so that a profile that is claimed during the search is found in one place. */
export function find(target: Target, name: string): string | undefined {
  const { directory } = target
  const names = namesOf(target, name)
  const unused = names.find((each) => isStored(directory, each))
  if (unused !== undefined) return pathIn(directory, unused)
  const claim = pathIn(pathIn(directory, CLAIMS), keyOfName(name))
  if (exists(claim)) return claim
  return names.map((each) => pathIn(directory, usedName(each))).find(isFilled)
}

/** Whether a profile is used: since the search, another process may have stored it, and a third one claimed it. */
export const isUsedSince = (target: Target, name: string): boolean =>
  namesOf(target, name).some((each) => exists(pathIn(target.directory, usedName(each))))

const namesOf = ({ hasFillers }: Target, name: string) =>
  hasFillers === false && !hasFiller(name) ? [name] : spellings(name)

/** The process that published it may have been killed before the flush, and its answer is about to be removed. */
export async function flushKnown(path: string): Promise<void> {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile()) await flushUnlessGone(path)
}

/** An empty used file is a claim that an earlier version did not finish. */
function isFilled(path: string): boolean {
  const status = lstatSync(path, { throwIfNoEntry: false })
  return status !== undefined && !(status.isFile() && status.size === 0)
}

/** Whether a file holds its profile. One that can't be read counts as stored, so that it is left unchanged. */
export function isStored(directory: string, name: string): boolean {
  if (lstatSync(pathIn(directory, name), { throwIfNoEntry: false }) === undefined) return false
  try {
    const text = readProfile(directory, name)
    return text !== undefined && spellings(name).includes(fileName(parseProfile(text)?.iccid ?? ''))
  } catch (error) {
    if (error instanceof UnusableProfile) return true
    throw error
  }
}
