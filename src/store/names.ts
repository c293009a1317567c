/** What the names in a directory say, and where the file of a claim belongs. */
import { join, sep } from 'node:path'
import { iccidDigits } from '../profile/iccid.ts'
import { fieldsOf } from './profile-file.ts'

export const USED = '__'
export const ENDING = '.json'

/** The number of a profile that came back to its directory; the first time, it has none. */
const NUMBERED = /\.([2-9]|[1-9]\d{1,5})$/

/** @param profile an ICCID, with the number of its return: what `Unused` lists */
export const fileName = (profile: string) => profile + ENDING

export const usedName = (name: string) => USED + name

/** For one file of many: `join` looks at each letter of the directory again. */
export const pathIn = (directory: string, name: string) => directory + sep + name

/** What the name of a profile's file says. */
interface ProfileName {
  /** The ICCID without a filler. */
  readonly digits: string
  /** From 1 on: how often the profile has come to its directory. The highest one counts. */
  readonly number: number
  readonly isUsed: boolean
}

/** @returns undefined if the file is not named after an ICCID */
export function parseName(name: string): ProfileName | undefined {
  const isUsed = name.startsWith(USED)
  if (!name.endsWith(ENDING)) return undefined
  const stem = name.slice(isUsed ? USED.length : 0, -ENDING.length)
  const [ending = '', number = '1'] = NUMBERED.exec(stem) ?? []
  const digits = iccidDigits(stem.slice(0, stem.length - ending.length))
  return digits === undefined ? undefined : { digits, number: Number(number), isUsed }
}

/** What stands for a profile among the claims: whatever the filler, there is one only. */
export const keyOf = ({ digits, number }: Pick<ProfileName, 'digits' | 'number'>) =>
  number === 1 ? digits : `${digits}.${number}`

/** The name of the unused file of a profile that comes once more. */
export function nextName(name: string): string {
  const { digits = '', number = 1 } = parseName(name) ?? {}
  return fileName(keyOf({ digits, number: number + 1 }))
}

/** Whether a file of this name is a profile on any system: Windows ignores case, and dots and spaces at the end. */
export const isProfileName = (name: string) =>
  parseName(name.replace(/[. ]+$/, '').replace(/\.json$/i, ENDING)) !== undefined

/** As Windows, macOS and file managers name a copy: `… (1).json`, `… - Copy.json`, `… copy 2.json`. */
const COPY = /^((?:__)?\d+[Ff]?)( ?\(\d+\)| - [^.]+| copy( \d+)?)\.json$/i

/** Why a file does not count, although its name ends as that of a profile. */
export function whyNoProfile(name: string): string {
  const [, original] = COPY.exec(name) ?? []
  return original === undefined
    ? 'its name is not an ICCID and .json'
    : `its name is that of a copy of ${fileName(original)}`
}

export const hasFiller = (name: string) => /[Ff](\.\d+)?\.json$/.test(name)

/** The given spelling comes first. A filler F at the end of an ICCID does not make it a different identity. */
export function spellings(name: string): string[] {
  const parsed = parseName(name)
  if (parsed === undefined) return [name]
  const all = ['', 'F', 'f'].map((filler) => fileName(keyOf({ ...parsed, digits: parsed.digits + filler })))
  return [name, ...all.filter((each) => each !== name)]
}

/** The names, in any spelling, that a profile had before it came back. */
export function earlierNames(name: string): string[] {
  const { digits = '', number = 1 } = parseName(name) ?? {}
  const numbers = Array.from({ length: number - 1 }, (_, at) => at + 1)
  return numbers.flatMap((each) => spellings(fileName(keyOf({ digits, number: each }))))
}

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
