/** From a stored file and its decrypted text to a profile, and what devices reject. */
import * as t from 'typanion'
import { UnusableProfile } from '../failure.ts'
import { FIELDS, type HexOptions, type Profile } from './formats.ts'
import { iccidDigits } from './iccid.ts'

const extra = t.isRecord(t.isUnknown())
const isStored = t.isObject(
  { iccid: t.isString(), profile: t.cascade(t.isString(), t.isBase64()) },
  { extra },
)
const isPlaintext = t.isObject(
  Object.fromEntries(FIELDS.map((field) => [field, t.isOptional(t.isNullable(t.isString()))])),
  { extra },
)

/** 3 digits of country code, 2 or 3 of network code and at least one more: at most 15 (TS 23.003 2.2). */
const IMSI = /^\d{6,15}$/
const KEY_128 = /^[0-9A-Fa-f]{32}$/
/** 52 bytes of EF_SMSP (TS 31.102 4.2.27). */
const SMSP = /^[0-9A-Fa-f]{104}$/
const PIN = /^\d{1,8}$/
/** The device stores each of these in 8 bytes. */
const ASCII_8 = /^[\x21-\x7e]{1,8}$/
/** An administrative key can also be given as its 8 bytes in hex (TS 102 221 11.1.9.3). */
const KEY_64 = /^[0-9A-Fa-f]{16}$/
/** Of a PIN, by TS 102 221 9.5.1; newer decoders demand the same of PUK and ADM. */
const SHORTEST_CODE = 4

interface Sealed {
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
  if (iccidDigits(name.replace(/(\.\d+)?\.json$/, '')) !== iccid) {
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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Returns the reasons why any device would reject this profile, or an empty list. Values are secrets and never part of
 * a reason.
 */
export function problems(profile: Profile, options: HexOptions): string[] {
  const { imsi, iccid, opc, k, kic, kid, smsp, smsc, pin, puk, adm } = profile
  const smscDigits = smsc?.replace(/\D/g, '').length ?? 0
  const found: (string | false | null)[] = [
    !imsi ? 'no IMSI' : !IMSI.test(imsi) && 'the IMSI is not 6 to 15 digits',
    !iccid ? 'no ICCID' : !/^\d{19,20}$/.test(iccidDigits(iccid) ?? '') && 'the ICCID is not 19 or 20 digits',
    !opc ? 'no OPc' : !KEY_128.test(opc) && 'OPc is not 32 hex digits',
    !k ? 'no K' : !KEY_128.test(k) && 'K is not 32 hex digits',
    kic && !KEY_128.test(kic) && 'KIC is not 32 hex digits',
    kid && !KEY_128.test(kid) && 'KID is not 32 hex digits',
    options.smsp && smsp && !SMSP.test(smsp) && 'SMSP is not 104 hex digits',
    options.smsc && smsc && (smscDigits < 1 || smscDigits > 20) && 'the SMSC does not have 1 to 20 digits',
    pin && !PIN.test(pin) && 'the PIN is not 4 to 8 digits',
    puk && !ASCII_8.test(puk) && 'the PUK is not 1 to 8 ASCII characters',
    adm &&
      !ASCII_8.test(adm) &&
      !KEY_64.test(adm) &&
      'the ADM is neither 1 to 8 ASCII characters nor 16 hex digits',
  ]
  return found.filter((problem) => typeof problem === 'string')
}

/** What happens to a profile with `missingKeys`. */
export const NRF_REJECTS =
  'nRF firmware rejects such a profile since the end of July 2026; other devices take it'

/** The keys for changes over the air that a profile does without. The generic library calls them optional. */
export const missingKeys = ({ kic, kid }: Profile): string[] => [
  ...(kic ? [] : ['KIC']),
  ...(kid ? [] : ['KID']),
]

/**
 * Returns the reasons why newer devices would reject this profile, or an empty list. A device that has such a profile
 * may be an older one, which takes it: decoders used to ignore a code that is too short.
 * @param profile has no `problems`
 * @param isHex whether a device gets it as it is printed; otherwise, only the PIN matters
 */
export function newerProblems({ pin, puk, adm }: Profile, isHex: boolean): string[] {
  const isShort = (code: string | null) => code && code.length < SHORTEST_CODE
  const inHex = [
    isShort(puk) && 'the PUK has fewer than 4 characters',
    isShort(adm) && 'the ADM has fewer than 4 characters',
  ]
  const found = [isShort(pin) && 'the PIN has fewer than 4 digits', ...(isHex ? inHex : [])]
  return found.filter((problem) => typeof problem === 'string')
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
