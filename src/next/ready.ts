/** What comes between the hold of a profile and its decision: it is decrypted, checked and encoded, so that only printing can fail later. */
import { Failure, UnusableProfile } from '../failure.ts'
import { type Decrypt, wrongKey } from '../key/decrypt.ts'
import type { PrivateKey } from '../key/private-key.ts'
import { missingKeys, newerProblems, parsePlaintext, refuseOutdated } from '../profile/check.ts'
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

/** A profile in the form in which it is printed, and what a person must know of it. */
export interface Encoded {
  readonly line: string
  /** Why newer devices would reject it. Then it is only for a device that has it already. */
  readonly newerProblems: readonly string[]
  readonly missingKeys: readonly string[]
}

/** A profile that a call holds, and that a device would accept. */
export interface Ready extends Encoded {
  readonly claim: Claim
}

/**
 * Decrypts, checks and encodes one profile.
 * @param stored what its file says
 * @throws {UnusableProfile}
 */
export async function encode(
  { decrypt, format, options, messages }: Encoder,
  name: string,
  stored: string,
): Promise<Encoded> {
  messages.tell(2, `opening ${name}`)
  const sealed = parseStored(stored, name)
  const profile = parsePlaintext(sealed, await decrypt(Buffer.from(sealed.profile, 'base64')), options)
  // JSON has that line, too.
  const isHex = format !== 'raw'
  return {
    newerProblems: newerProblems(profile, isHex),
    missingKeys: isHex ? missingKeys(profile) : [],
    line: FORMATS[format](profile, options),
  }
}

/**
 * The same for one that nobody has got yet.
 * @throws {UnusableProfile} also if newer devices would reject it
 */
export async function makeReady(encoder: Encoder, claim: Claim): Promise<Ready> {
  const encoded = await encode(encoder, claim.name, claim.stored)
  refuseOutdated(encoded.newerProblems)
  return { claim, ...encoded }
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
