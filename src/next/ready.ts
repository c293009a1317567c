/** What comes between the hold of a profile and its decision: it is decrypted, checked and encoded, so that only printing can fail later. */
import { Failure, UnusableProfile } from '../failure.ts'
import { type Decrypt, wrongKey } from '../key/decrypt.ts'
import type { PrivateKey } from '../key/private-key.ts'
import { missingKeys, NRF_REJECTS, newerProblems, parsePlaintext, refuseOutdated } from '../profile/check.ts'
import type { HexOptions } from '../profile/hex.ts'
import { FORMATS, type Format } from '../profile/json.ts'
import { parseStored } from '../profile/stored.ts'
import type { Claim } from '../store/directory.ts'
import type { Messages } from '../words.ts'

/** What decrypts and encodes. */
export interface Encoder {
  readonly key: PrivateKey
  readonly decrypt: Decrypt
  readonly format: Format
  /** Also selects the fields to check: those that the device gets. */
  readonly options: HexOptions
  readonly messages: Messages
}

/** A profile that is to be printed: this call holds it, or somebody has used it before. */
export interface Taken extends Claim {
  /** Whether it was handed out before. */
  readonly isAgain: boolean
  readonly line: string
  /** What a person must know of it. */
  readonly cautions: readonly string[]
}

/**
 * Decrypts, checks and encodes one profile.
 * @param isAgain whether a device has it: it may be an older one, which takes what newer ones reject
 * @throws {UnusableProfile}
 */
export async function encode(
  { decrypt, format, options, messages }: Encoder,
  claim: Claim,
  isAgain: boolean,
): Promise<Taken> {
  const { name, iccid, stored } = claim
  messages.tell(2, `opening ${name}`)
  const sealed = parseStored(stored, name)
  const profile = parsePlaintext(sealed, await decrypt(Buffer.from(sealed.profile, 'base64')), options)
  // JSON has that line, too.
  const isHex = format !== 'raw'
  const newer = newerProblems(profile, isHex)
  if (!isAgain) refuseOutdated(newer)
  const keys = isHex ? missingKeys(profile) : []
  const cautions: string[] = []
  if (keys.length > 0) cautions.push(`${iccid} has no ${keys.join(' and no ')}: ${NRF_REJECTS}`)
  if (newer.length > 0)
    cautions.push(
      `newer devices would reject ${iccid}: ${newer.join(', ')}; printed only because it was handed out before: if the device rejects it, put the device aside`,
    )
  return { ...claim, isAgain, line: FORMATS[format](profile, options), cautions }
}

/**
 * The failure of a profile that no other one can replace.
 * @param what such as `the profile of device SN-1`
 */
export function unusable(key: PrivateKey, what: string, error: unknown): unknown {
  if (!(error instanceof UnusableProfile)) return error
  if (error.fault === 'locked') return wrongKey(key, 1)
  const outcome = error.fault === 'unreadable' ? 'disk' : 'unusable'
  const hint = 'check its rights, copy it from a backup, or ask the service provider; nothing was claimed'
  return new Failure(outcome, `${what} can't be handed out: ${error.message}`, hint, error)
}
