/** What a profile must be: the file that the service sends, and the text that is encrypted in it. */
import { UnusableProfile } from '../failure.ts'
import { FIELDS, type Field, type HexOptions, type Profile } from './hex.ts'

/** 18 to 20 digits (ITU-T E.118), with or without a filler F (TS 102 221 13.2); a part of a regular expression. */
export const ICCID = String.raw`(\d{18,20})[Ff]?`

const ALONE = RegExp(`^${ICCID}$`)

/** Returns the 18 to 20 digits of an ICCID without its filler, or undefined if the text is no ICCID. */
export const iccidDigits = (text: string): string | undefined => ALONE.exec(text)?.[1]

/** A profile as the service sends it and as its file holds it: an ICCID and a ciphertext. */
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

/** In characters (TS 102 221 9.5.1). Older devices ignore the record of a shorter code, newer ones refuse the profile. */
const SHORTEST_CODE = 4

const KEY_128 = /^[0-9A-Fa-f]{32}$/

/** The form of each field that every device demands, and what is wrong with any other. Values are secrets and never said. */
const FORMS: readonly [Field, RegExp, problem: string][] = [
  // A country code of 3 digits, a network code of 2 or 3, and at least one more digit (TS 23.003 2.2).
  ['imsi', /^\d{6,15}$/, 'the IMSI is not 6 to 15 digits'],
  ['iccid', /^\d{19,20}[Ff]?$/, 'the ICCID is not 19 or 20 digits'],
  ['opc', KEY_128, 'OPc is not 32 hex digits'],
  ['k', KEY_128, 'K is not 32 hex digits'],
  ['kic', KEY_128, 'KIC is not 32 hex digits'],
  ['kid', KEY_128, 'KID is not 32 hex digits'],
  // 52 bytes of EF_SMSP (TS 31.102 4.2.27).
  ['smsp', /^[0-9A-Fa-f]{104}$/, 'SMSP is not 104 hex digits'],
  ['smsc', /^\D*(\d\D*){1,20}$/, 'the SMSC does not have 1 to 20 digits'],
  ['pin', /^\d{1,8}$/, 'the PIN is not 4 to 8 digits'],
  ['puk', /^[\x21-\x7e]{1,8}$/, 'the PUK is not 4 to 8 ASCII characters'],
  // 16 hex digits name the 8 bytes themselves (TS 102 221 11.1.9.3).
  ['adm', /^([\x21-\x7e]{1,8}|[0-9A-Fa-f]{16})$/, 'the ADM is not 4 to 8 ASCII characters or 16 hex digits'],
]

const REQUIRED = { imsi: 'IMSI', iccid: 'ICCID', opc: 'OPc', k: 'K' }

/**
 * Returns the reasons why any device would reject this profile, or an empty list.
 * @param options fields of records that are left out are not checked
 */
export function problems(profile: Profile, { smsp, smsc }: HexOptions): string[] {
  const sent = { ...profile, ...(!smsp && { smsp: null }), ...(!smsc && { smsc: null }) }
  const missing = Object.entries(REQUIRED).filter(([field]) => !sent[field as Field])
  const wrong = FORMS.filter(([field, form]) => sent[field] && !form.test(sent[field]))
  return [...missing.map(([, name]) => `no ${name}`), ...wrong.map(([, , problem]) => problem)]
}

/**
 * Reads what was decrypted, and checks that some device would accept the profile.
 * @param stored the profile's file, whose ICCID counts if there is none in the plaintext
 * @param plaintext UTF-8 JSON
 * @throws {UnusableProfile} `unfit`, and the message says why
 */
export function parsePlaintext(
  stored: Pick<StoredProfile, 'iccid'>,
  plaintext: Buffer,
  options: HexOptions,
): Profile {
  const fields: Record<string, unknown> = Object(parseJson(plaintext.toString('utf8')))
  if (FIELDS.some((field) => typeof (fields[field] ?? '') !== 'string'))
    throw new UnusableProfile('unfit', 'the decrypted data is not a profile')
  const read = Object.fromEntries(FIELDS.map((field) => [field, fields[field] || null])) as Profile
  const profile = { ...read, iccid: read.iccid ?? stored.iccid }
  if (iccidDigits(profile.iccid) !== iccidDigits(stored.iccid))
    throw new UnusableProfile('unfit', 'the encrypted ICCID is a different one')
  const found = problems(profile, options)
  if (found.length > 0) throw new UnusableProfile('unfit', `a device would reject it: ${found.join(', ')}`)
  return profile
}

/** What happens to a profile with `missingKeys`. */
export const NRF_REJECTS =
  'nRF firmware rejects such a profile since the end of July 2026; other devices take it'

/** Returns which keys for changes over the air are missing. The generic library calls them optional. */
export const missingKeys = (profile: Profile): string[] =>
  ['KIC', 'KID'].filter((name) => !profile[name.toLowerCase() as Field])

/**
 * Returns the reasons why newer devices would reject this profile, or an empty list. A device that has such a profile
 * may be an older one, which takes it.
 * @param profile has no `problems`
 * @param isHex whether a device gets it as it is printed; otherwise, only the PIN matters
 */
export const newerProblems = (profile: Profile, isHex: boolean): string[] =>
  (isHex ? ['PIN', 'PUK', 'ADM'] : ['PIN'])
    .filter((name) => (profile[name.toLowerCase() as Field]?.length ?? SHORTEST_CODE) < SHORTEST_CODE)
    .map((name) => `the ${name} has fewer than ${SHORTEST_CODE} characters`)

/**
 * Refuses a profile that no device has yet: nobody knows which firmware the device has, so the profile must suit them all.
 * @param found `newerProblems`
 * @throws {UnusableProfile} `unfit` if there is one
 */
export function refuseOutdated(found: readonly string[]): void {
  if (found.length === 0) return
  throw new UnusableProfile('unfit', `newer devices would reject it: ${found.join(', ')}`)
}
