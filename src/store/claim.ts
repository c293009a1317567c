/** How a profile becomes used, and how it comes back: each is the creation of one file. */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { reasonOf } from '../failure.ts'
import { iccidDigits } from '../profile/iccid.ts'
import type { Messages } from '../words.ts'
import { type Creation, createAll, type Outcome, openClaims, settle } from './create.ts'
import { fieldsOf } from './fields.ts'
import { fileName, keyOf, parseName, type Unused } from './names.ts'
import { patiently } from './patience.ts'
import { readUnused } from './read.ts'
import { removeIfThere } from './remove.ts'
import { keyOfName, useOf } from './use.ts'

/** No call takes that long for a claim, unless its process has ended or is suspended. */
const STILL_CLAIMING_MS = 60_000

/** How many claims are finished together. */
const AT_ONCE = 64

/** The text of a file in a directory of profiles, and the file's name. */
export interface Stored {
  readonly name: string
  readonly stored: string
}

/** What a used file says. It differs from that of any other call: `claim` is a random number. */
export const usedText = ({ name, stored }: Stored, device?: string): string =>
  JSON.stringify({
    ...fieldsOf(stored),
    device,
    station: hostname(),
    claimed: new Date().toISOString(),
    file: name,
    claim: randomUUID(),
  })

/**
 * Claims profiles.
 * @param texts of their used files
 * @returns what became of each
 * @throws the system error if nothing is claimed
 */
export const claimAll = (directory: string, texts: readonly string[]): Promise<Outcome[]> =>
  createAll(directory, texts.map(claimOf))

const claimOf = (text: string): Creation => ({ key: keyOfName(String(fieldsOf(text)['file'])), text })

/**
 * Makes profiles unused again that were claimed: under their next number. Only for the owner of the used files, who has
 * not given them away.
 * @param all what was stored of them
 * @throws the system error if nothing came back
 */
export function comeBack(directory: string, all: readonly Stored[]): Promise<Outcome[]> {
  return createAll(
    directory,
    all.map(({ name, stored }) => ({ key: keyOfName(nextName(name)), text: stored })),
  )
}

/** The name of a profile that comes once more. */
export function nextName(name: string): string {
  const { digits = '', number = 1 } = parseName(name) ?? {}
  return fileName(keyOf({ digits, number: number + 1 }))
}

/**
 * Reads the names in a directory, after finishing what killed calls have decided. It removes unused files beside their
 * used ones, and names what no call can hand out by itself.
 * @throws {Failure} as `readUnused`
 */
export function readSettled(directory: string, messages: Messages): Unused {
  const keys = tryTo(messages, 'claims', () => openClaims(directory)) ?? []
  for (let at = 0; at < keys.length; at += AT_ONCE) {
    const some = keys.slice(at, at + AT_ONCE)
    for (const text of settleSome(directory, some, messages)) nameUnprinted(text, messages)
  }
  const found = readUnused(directory)
  for (const name of found.twins) {
    const { digits = '', number = 0 } = parseName(name) ?? {}
    tryTo(messages, digits, () => {
      const use = useOf(directory, digits)
      if (use.state === 'gone') return
      const isLast = parseName(use.name)?.number === number
      if (isLast && use.state === 'torn' && use.isTwin)
        messages.warn(
          `${digits} is set aside: its used file is not complete, and nobody has it`,
          'unprinted',
          digits,
        )
      else if (!isLast || use.state === 'used') patiently(() => removeIfThere(join(directory, name)))
    })
  }
  return found
}

/** If they can't be finished together, one by one. */
function settleSome(directory: string, keys: readonly string[], messages: Messages): string[] {
  try {
    return settle(directory, ...keys)
  } catch {
    return keys.flatMap((key) => tryTo(messages, key, () => settle(directory, key)) ?? [])
  }
}

/** The next call for a device prints its profile, and a move goes on. */
function nameUnprinted(text: string, messages: Messages): void {
  const { iccid, file, device, claimed, station } = fieldsOf(text)
  if (typeof iccid !== 'string' || typeof file !== 'string' || device !== undefined) return
  const isNew = Math.abs(Date.now() - Date.parse(String(claimed))) < STILL_CLAIMING_MS
  const digits = iccidDigits(iccid) ?? ''
  if (!isNew)
    messages.warn(
      `${digits} is marked used but was not printed: a call of ${station} was killed while it claimed it`,
      'unprinted',
      digits,
    )
}

function tryTo<T>(messages: Messages, what: string, action: () => T): T | undefined {
  try {
    return action()
  } catch (error) {
    messages.warn(`${what}: a claim can't be finished: ${reasonOf(error)}`)
    return undefined
  }
}
