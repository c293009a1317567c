/** What comes between the hold of a profile and its decision: it is decrypted, checked and encoded, so that only printing can fail later. */
import { Failure, UnusableProfile } from '../failure.ts'
import { type Decrypt, wrongKey } from '../key/decrypt.ts'
import type { PrivateKey } from '../key/private-key.ts'
import { missingKeys, NRF_REJECTS, newerProblems, parsePlaintext, refuseOutdated } from '../profile/check.ts'
import type { HexOptions } from '../profile/hex.ts'
import { FORMATS, type Format } from '../profile/json.ts'
import { parseStored } from '../profile/stored.ts'
import { type Claim, iccidOf } from '../store/directory.ts'
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

/** A profile in the form in which it is printed. */
export interface Encoded {
  readonly line: string
  /** What a person must know of it. */
  readonly cautions: readonly string[]
}

/** A profile that is to be printed. */
export interface Taken extends Encoded {
  /** The digits, without a filler. */
  readonly iccid: string
  readonly device: string | undefined
  /** Whether it was handed out before. */
  readonly isAgain: boolean
  readonly places: Claim['places']
}

/** One that this call holds, that a device would accept, and that is not decided yet. */
export interface Ready extends Taken {
  readonly claim: Claim
}

/**
 * Decrypts, checks and encodes one profile.
 * @param stored what its file says
 * @param isAgain whether a device has it: it may be an older one, which takes what newer ones reject
 * @throws {UnusableProfile}
 */
export async function encode(
  { decrypt, format, options, messages }: Encoder,
  name: string,
  stored: string,
  isAgain: boolean,
): Promise<Encoded> {
  messages.tell(2, `opening ${name}`)
  const sealed = parseStored(stored, name)
  const profile = parsePlaintext(sealed, await decrypt(Buffer.from(sealed.profile, 'base64')), options)
  // JSON has that line, too.
  const isHex = format !== 'raw'
  const newer = newerProblems(profile, isHex)
  if (!isAgain) refuseOutdated(newer)
  const keys = isHex ? missingKeys(profile) : []
  const cautions: string[] = []
  if (keys.length > 0) cautions.push(`${iccidOf(name)} has no ${keys.join(' and no ')}: ${NRF_REJECTS}`)
  if (newer.length > 0)
    cautions.push(
      `newer devices would reject ${iccidOf(name)}: ${newer.join(', ')}; printed only because it was handed out before: if the device rejects it, put the device aside`,
    )
  return { line: FORMATS[format](profile, options), cautions }
}

/** The same for one that nobody has got yet. */
export async function makeReady(encoder: Encoder, claim: Claim): Promise<Ready> {
  const { iccid, device, places } = claim
  const encoded = await encode(encoder, claim.name, claim.stored, false)
  return { iccid, device, places, isAgain: false, claim, ...encoded }
}

/**
 * The failure of a profile that no other one can replace.
 * @param what such as `the profile of device SN-1`
 */
export function unusable(key: PrivateKey, what: string, error: unknown): unknown {
  if (!(error instanceof UnusableProfile)) return error
  if (error.fault === 'locked') return wrongKey(key, 1)
  const hint =
    error.fault === 'unreadable'
      ? 'give this user permission to read it; nothing was claimed'
      : error.fault === 'damaged'
        ? 'copy the file from a backup, or ask the service provider for another profile; nothing was claimed'
        : 'take another profile, and tell the service provider about this one; nothing was claimed'
  const outcome = error.fault === 'unreadable' ? 'disk' : 'unusable'
  return new Failure(outcome, `${what} can't be handed out: ${error.message}`, hint, error)
}
