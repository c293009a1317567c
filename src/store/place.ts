import { join } from 'node:path'
import { fieldsOf } from './fields.ts'
import { fileName, keyOf, parseName, spellings, usedName } from './names.ts'

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

/** The hidden directory of the records of devices. */
export const RECORDS = '.devices'

/** The hidden directory of moves. */
export const MOVES = '.moves'

/** By a hash of its serial number: a device's record, counted from 1. */
const RECORD = /^[0-9a-f]{64}\.\d+$/

/** An entry in the journal of a move, counted from 1. */
const ENTRY = /^([0-9a-f-]{36})\.(\d+)$/

export const isRecord = (name: string) => RECORD.test(name)

/**
 * @param key the name of the claim
 * @param text what the file says; a used file names its unused one
 */
export function placeOf(directory: string, { key, text }: { key: string; text: string }): Place {
  if (isRecord(key)) return { path: join(directory, RECORDS, key), unless: [] }
  const [, move = '', number = ''] = ENTRY.exec(key) ?? []
  if (move !== '') return { path: join(directory, MOVES, move, number), unless: [] }
  const { file, iccid } = fieldsOf(text)
  const names = spellings(fileName(key)).map((name) => join(directory, name))
  const used = spellings(fileName(key)).map((name) => join(directory, usedName(name)))
  const parsed = parseName(String(file))
  if (typeof file === 'string' && parsed !== undefined && !parsed.isUsed && keyOf(parsed) === key) {
    const path = join(directory, usedName(file))
    return { path, replaces: join(directory, file), unless: used.filter((each) => each !== path) }
  }
  const spelled = fileName(String(iccid))
  const path = join(directory, spellings(fileName(key)).includes(spelled) ? spelled : fileName(key))
  return { path, isUnused: true, unless: [...used, ...names.filter((each) => each !== path)] }
}
