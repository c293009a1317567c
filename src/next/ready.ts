/** Between the hold of a profile and its decision, it is decrypted, checked and encoded, or skipped: only printing can fail later. */
import { Failure, UnusableProfile } from '../failure.ts'
import { type Decrypt, type PrivateKey, wrongKey } from '../key/private-key.ts'
import {
  missingKeys,
  NRF_REJECTS,
  newerProblems,
  parsePlaintext,
  parseStored,
  refuseOutdated,
} from '../profile/check.ts'
import type { HexOptions } from '../profile/hex.ts'
import { FORMATS, type Format } from '../profile/json.ts'
import type { Claim } from '../store/directory.ts'
import { type Messages, several } from '../words.ts'

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
export async function encode(encoder: Encoder, claim: Claim, isAgain: boolean): Promise<Taken> {
  const { decrypt, format, options, messages } = encoder
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

const MOST_NAMED = 20

/** The files that a call skips, by name, and why. */
export class Skipped {
  readonly #key: PrivateKey
  readonly #found = new Map<string, UnusableProfile>()
  /** Whether the key has decrypted any profile. */
  isRightKey = false

  constructor(key: PrivateKey) {
    this.#key = key
  }

  get count(): number {
    return this.#found.size
  }

  /**
   * Notes why a file is skipped.
   * @throws the error itself if it is not about this one file
   */
  add(name: string, error: unknown): void {
    if (!(error instanceof UnusableProfile)) throw error
    this.#found.set(name, error)
    if (error.fault === 'unfit') this.isRightKey = true
  }

  /** Those with this fault. */
  with(fault: UnusableProfile['fault']): UnusableProfile[] {
    return [...this.#found.values()].filter((each) => each.fault === fault)
  }

  /** @throws {Failure} `key` if it has decrypted nothing, and so many were tried */
  checkKey(least: number): void {
    const { length } = this.with('locked')
    if (this.isRightKey || length < least) return
    // That says it of all of them.
    this.#found.clear()
    throw wrongKey(this.#key, length)
  }

  warn(messages: Pick<Messages, 'warn'>): void {
    for (const [name, { message }] of [...this.#found].slice(0, MOST_NAMED))
      messages.warn(`${name} is skipped: ${message}`)
    if (this.count > MOST_NAMED) messages.warn(`${several(this.count - MOST_NAMED, 'more file')} skipped`)
  }
}
