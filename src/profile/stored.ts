/** A profile as the service sends it and as its file holds it: an ICCID and a ciphertext. There is one check of it. */
import { UnusableProfile } from '../failure.ts'
import { iccidDigits } from './iccid.ts'

export interface StoredProfile {
  /** As the service sent it, with or without a filler. */
  readonly iccid: string
  /** The ciphertext in base64. */
  readonly profile: string
}

/** Whether a text is base64 of at least one byte: alphabet, padding and length (RFC 4648 section 4). */
export const isBase64 = (text: string): boolean =>
  text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)

/**
 * Checks what is to be stored, or was.
 * @param value parsed JSON: an entry of an answer of the service, or the file of a profile. Other fields are ignored
 * @throws {UnusableProfile} `damaged`, and the message says why
 */
export function storedProfile(value: unknown): StoredProfile {
  const { iccid, profile }: Record<string, unknown> = Object(value)
  if (typeof iccid !== 'string' || typeof profile !== 'string')
    throw new UnusableProfile('damaged', 'it does not contain an ICCID and an encrypted profile')
  if (iccidDigits(iccid) === undefined)
    throw new UnusableProfile('damaged', 'the ICCID in it is not 18 to 20 digits')
  if (!isBase64(profile)) throw new UnusableProfile('damaged', 'the encrypted profile in it is not base64')
  return { iccid, profile }
}

/**
 * Reads the text of a file of a profile.
 * @param name the name of the file, `<iccid>.json`. If given, it must match the ICCID in the text, so that one directory
 *   can't hold the same identity twice
 * @throws {UnusableProfile} `damaged`, and the message says why
 */
export function parseStored(text: string, name?: string): StoredProfile {
  const stored = storedProfile(parseJson(text))
  const digits = iccidDigits(stored.iccid)
  if (name !== undefined && iccidDigits(name.replace(/\.json$/, '')) !== digits)
    throw new UnusableProfile('damaged', `its name does not match the ICCID in it, ${digits}`)
  return stored
}

/** Returns what a text of JSON says, or undefined if it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
