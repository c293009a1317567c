import * as t from 'typanion'
import { UnusableProfile } from '../failure.ts'
import { problems } from './check.ts'
import { iccidDigits } from './iccid.ts'
import { FIELDS, type HexOptions, type Profile } from './profile.ts'

const extra = t.isRecord(t.isUnknown())
const isStored = t.isObject(
  { iccid: t.isString(), profile: t.cascade(t.isString(), t.isBase64()) },
  { extra },
)
const isPlaintext = t.isObject(
  Object.fromEntries(FIELDS.map((field) => [field, t.isOptional(t.isNullable(t.isString()))])),
  { extra },
)

export interface Sealed {
  /** As in the file, with or without a filler. */
  readonly iccid: string
  readonly ciphertext: Buffer
}

/**
 * @param name must match the ICCID in the file, so that one directory can't hold the same identity twice
 * @throws {UnusableProfile} `damaged`
 */
export function parseStored(name: string, text: string): Sealed {
  const stored = parseJson(text)
  if (!isStored(stored)) throw new UnusableProfile('damaged', 'it does not contain an encrypted profile')
  const iccid = iccidDigits(stored.iccid)
  if (iccid === undefined) throw new UnusableProfile('damaged', 'the ICCID in it is not 1 to 20 digits')
  if (iccidDigits(name.replace(/\.json$/, '')) !== iccid) {
    throw new UnusableProfile('damaged', `its name does not match the ICCID in it, ${iccid}`)
  }
  return { iccid: stored.iccid, ciphertext: Buffer.from(stored.profile, 'base64') }
}

/**
 * Also checks that some device would accept the profile.
 * @throws {UnusableProfile} `unfit`
 */
export function parsePlaintext(sealed: Sealed, plaintext: Buffer, options: HexOptions): Profile {
  const fields = parseJson(plaintext.toString('utf8'))
  if (!isPlaintext(fields)) throw new UnusableProfile('unfit', 'the decrypted data is not a profile')
  const profile = Object.fromEntries(FIELDS.map((field) => [field, fields[field] || null])) as Profile
  const named = { ...profile, iccid: profile.iccid ?? sealed.iccid }
  if (iccidDigits(named.iccid) !== iccidDigits(sealed.iccid)) {
    throw new UnusableProfile('unfit', 'the encrypted ICCID is a different one')
  }
  const found = problems(named, options)
  if (found.length > 0) throw new UnusableProfile('unfit', `a device would reject it: ${found.join(', ')}`)
  return named
}

/**
 * Nobody knows which firmware a device has, so a profile that no device has yet must suit them all.
 * @param found `newerProblems`
 * @throws {UnusableProfile} `unfit` if there is one
 */
export function refuseOutdated(found: readonly string[]): void {
  if (found.length > 0)
    throw new UnusableProfile('unfit', `newer devices would reject it: ${found.join(', ')}`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
