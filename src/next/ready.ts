/** What comes before a claim: a profile that is ready to be printed, and a last look. */
import { Failure, reasonOf, UnusableProfile } from '../failure.ts'
import { type Decrypt, wrongKeyFacts } from '../key/decrypt.ts'
import type { PrivateKey } from '../key/private-key.ts'
import { FORMATS, type Format, type HexOptions } from '../profile/formats.ts'
import { iccidDigits } from '../profile/iccid.ts'
import {
  missingKeys,
  newerProblems,
  parsePlaintext,
  parseStored,
  refuseOutdated,
} from '../profile/validate.ts'
import { deviceIn, readProfile } from '../store/profile-file.ts'
import type { Messages } from '../words.ts'
import { isOutputClosed } from './standard-output.ts'

export interface Source {
  readonly directory: string
  readonly key: PrivateKey
  readonly decrypt: Decrypt
  readonly format: Format
  /** Also selects the fields to check: those that the device gets. */
  readonly options: HexOptions
  readonly messages: Messages
  readonly signals: Signals
}

export interface Signals {
  readonly stop: AbortSignal
  /** To be called before the first claim: from now on, no signal ends the process at once. */
  beforeClaim(): void
}

/** A profile that decrypts and that a device would accept. */
export interface Ready {
  /** The digits, without a filler. */
  readonly iccid: string
  /** The name of the unused file. */
  readonly name: string
  /** The text of its file. */
  readonly stored: string
  /** The device that it is for, if one was named. */
  readonly device?: string | undefined
  /** Whether it was handed out before. */
  readonly isAgain?: boolean
  /** What a person must know of it. */
  readonly caution?: string
  /** Why newer devices would reject it. Then it is only for a device that has it already. */
  readonly newerProblems: readonly string[]
  /** Of a profile that a device gets as it is printed. */
  readonly missingKeys: readonly string[]
  /** Whether the disk failed, and another call may have the profile. */
  readonly isUnsure?: boolean
  /** The output, made before the claim, so that only printing can fail after it. */
  readonly line: string
}

/** One that is to be claimed. */
export interface Wanted extends Ready {
  /** What its used file is to say. */
  readonly text: string
  /** If it is to be recorded for its device before: how many records the device has. */
  readonly records?: number | undefined
  /** The unused file beside a torn used one. It goes when the profile is claimed under its next number. */
  readonly twin?: string | undefined
}

export const asUnsure = (ready: Ready): Ready => ({ ...ready, isUnsure: true })

/** A call failed after it had claimed some of the profiles that it needs. */
export class Undelivered extends Error {
  readonly taken: readonly Ready[]

  /** @param cause why it failed */
  constructor(taken: readonly Ready[], cause: unknown) {
    super('claimed but not delivered', { cause })
    this.taken = taken.toSorted((a, b) => Number(b.isUnsure ?? false) - Number(a.isUnsure ?? false))
  }
}

/**
 * Reads an unused profile, and refuses one that newer devices would reject, unless it is a used one that was renamed back
 * by hand.
 * @param name the name of its file
 * @returns undefined if there is no such file
 * @throws {UnusableProfile}
 */
export async function makeReady(source: Source, name: string): Promise<Ready | undefined> {
  const stored = readStored(source, name)
  if (stored === undefined) return undefined
  const ready = await readyFrom(source, name, stored)
  if (deviceIn(stored) === undefined) refuseOutdated(ready.newerProblems)
  return ready
}

/** @throws {UnusableProfile} */
export function readStored({ directory, messages }: Source, name: string): string | undefined {
  messages.tell(2, `reading ${name}`)
  return readProfile(directory, name)
}

/**
 * Decrypts, checks and encodes one profile that a device may have already.
 * @param stored what its file holds
 * @throws {UnusableProfile}
 */
export async function readyFrom(
  { decrypt, format, options }: Source,
  name: string,
  stored: string,
): Promise<Ready> {
  const sealed = parseStored(name, stored)
  const plaintext = await decrypt(sealed.ciphertext)
  const profile = parsePlaintext(sealed, plaintext, options)
  // JSON has that line, too.
  const isHex = format !== 'raw'
  return {
    iccid: iccidDigits(sealed.iccid) ?? '',
    name,
    stored,
    newerProblems: newerProblems(profile, isHex),
    missingKeys: isHex ? missingKeys(profile) : [],
    line: FORMATS[format](profile, options),
  }
}

/** A profile that no other one can replace: that of a device, or the one that was asked for, by the name of its file. */
export interface Subject {
  readonly device?: string | undefined
  readonly iccid?: string
  readonly name?: string | undefined
}

/**
 * Does something with one, and turns errors into failures that a user understands.
 * @param key the one that decrypts it
 * @throws {Failure}
 */
export async function told<T>(
  key: PrivateKey,
  { device, iccid, name = iccid }: Subject,
  action: () => T | Promise<T>,
): Promise<T> {
  try {
    return await action()
  } catch (error) {
    if (error instanceof Failure) throw error
    const isDevices = device !== undefined
    if (error instanceof UnusableProfile) {
      const facts = error.fault === 'locked' ? wrongKeyFacts(key, false) : error.fault
      const what = isDevices ? `the profile of device ${device}` : name
      throw new Failure(facts, `${what} can't be handed out: ${error.message}`, error)
    }
    const step = isDevices ? `record which profile device ${device} has` : `claim ${iccid}`
    throw new Failure('not-recorded', `can't ${step}: ${reasonOf(error)}`, error)
  }
}

/** @throws {Failure} `interrupted` after a signal, before anything is claimed */
export function checkStop({ stop }: Signals): void {
  if (!stop.aborted) return
  throw new Failure('interrupted', 'interrupted; nothing was claimed')
}

/**
 * Checks once more for problems that are visible before a claim.
 * @throws {Failure} `interrupted` or `disk`; in each case, nothing is claimed
 */
export function beforeClaim(signals: Signals): void {
  checkStop(signals)
  if (isOutputClosed()) throw new Failure('no-output', 'standard output is closed; nothing was claimed')
  signals.beforeClaim()
}
