import { join } from 'node:path'
import { fileName, keyOf, parseName, spellings, usedName } from './names.ts'
import { fieldsOf } from './used-file.ts'

/** Where the file of a claim belongs. */
export interface Place {
  readonly path: string
  /** The unused file that goes when this one comes. */
  readonly replaces?: string
  /** Whether it is a profile that comes. */
  readonly isUnused?: boolean
  /** If there is one of these, the claim came too late. */
  readonly unless: readonly string[]
}

/** The hidden directory of claims that are being placed. */
export const CLAIMS = '.claims'

/** The hidden directory of the records of devices. */
export const RECORDS = '.devices'

/** The hidden directory of moves. */
export const MOVES = '.moves'

/** By a hash of its serial number: a device's record, counted from 1. */
const RECORD = /^[0-9a-f]{64}\.\d+$/

/** An entry in the journal of a move, counted from 1. */
const ENTRY = /^([0-9a-f-]{36})\.(\d+)$/

export const isRecord = (name: string) => RECORD.test(name)

/** Ends the key of a profile that comes. That of a claim of the profile is another one: each key is decided once. */
const COMING = '+'

/** What stands among the claims for a profile that comes. */
export const comingKey = (name: string) => keyOfName(name) + COMING

/** The name of the profile that comes by a claim; undefined if the claim is another one. */
export const comingName = (key: string) =>
  key.endsWith(COMING) ? fileName(key.slice(0, -COMING.length)) : undefined

/** What stands among the claims for the profile of a file: whatever the filler, there is one only. */
export const keyOfName = (name: string) => {
  const parsed = parseName(name)
  return parsed === undefined ? name : keyOf(parsed)
}

/**
 * @param key the name of the claim
 * @param text what the file says; a used file names its unused one
 */
export function placeOf(directory: string, { key, text }: { key: string; text: string }): Place {
  if (isRecord(key)) return { path: join(directory, RECORDS, key), unless: [] }
  const [, move = '', number = ''] = ENTRY.exec(key) ?? []
  if (move !== '') return { path: join(directory, MOVES, move, number), unless: [] }
  const isUnused = key.endsWith(COMING)
  const claim = isUnused ? key.slice(0, -COMING.length) : key
  const names = spellings(fileName(claim))
  const { file, iccid } = fieldsOf(text)
  const said = isUnused ? fileName(String(iccid)) : String(file)
  const name = names.includes(said) ? said : fileName(claim)
  // Where the system ignores case, the spelling F is also found as f.
  const others = names.filter((each) => each.toLowerCase() !== name.toLowerCase())
  const pathOf = (each: string) => join(directory, each)
  const [here, there] = [name, usedName(name)].map(pathOf) as [string, string]
  const used = others.map(usedName)
  if (!isUnused) return { path: there, replaces: here, unless: used.map(pathOf) }
  // In the order in which a claim goes.
  const unless = [...others, join(CLAIMS, claim), usedName(name), ...used].map(pathOf)
  return { path: here, isUnused, unless }
}
