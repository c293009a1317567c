import type { KeyObject } from 'node:crypto'
import type { Decrypt } from '../profile/decrypt.ts'
import { encodeHex } from '../profile/hex.ts'
import { iccidDigits } from '../profile/iccid.ts'
import { encodeJson, encodeRaw } from '../profile/json.ts'
import { parsePlaintext, parseStored } from '../profile/parse.ts'
import type { HexOptions } from '../profile/profile.ts'
import { readProfile } from '../store/read.ts'
import type { Messages } from '../words.ts'

/** What is printed of a profile: each makes one line of it, without its newline. */
const FORMATS = { hex: encodeHex, json: encodeJson, raw: encodeRaw }

export type Format = keyof typeof FORMATS

/** Where profiles come from, and what is made of them. */
export interface Source {
  readonly directory: string
  readonly key: KeyObject
  readonly format: Format
  /** Also says which fields are checked: those that a device would get. */
  readonly options: HexOptions
  readonly messages: Messages
  readonly signals: Signals
}

/** What the call does about Ctrl-C and the like. */
export interface Signals {
  /** Aborted by the first signal. */
  readonly stop: AbortSignal
  /** From now on no signal ends the process at once: something is claimed. */
  hold(): void
}

/** A profile that decrypts and that a device would accept. */
export interface Ready {
  /** Its digits, without a filler. */
  readonly iccid: string
  /** The name of its file while it is unused. */
  readonly name: string
  /** What is printed of it: made before the claim, so that only printing is left to go wrong after it. */
  readonly line: string
}

/**
 * Reads, decrypts, checks and encodes one profile.
 * @param name of its file while it is unused
 * @param file the name it has now
 * @returns undefined where there is no such file
 * @throws {UnusableProfile}
 */
export async function makeReady(
  { directory, format, options, messages }: Source,
  decrypt: Decrypt,
  name: string,
  file = name,
): Promise<Ready | undefined> {
  messages.tell(2, `reading ${file}`)
  const text = readProfile(directory, file)
  if (text === undefined) return undefined
  const sealed = parseStored(name, text)
  const plaintext = await decrypt(sealed.ciphertext)
  const profile = parsePlaintext(sealed, plaintext, options)
  return { iccid: iccidDigits(sealed.iccid) ?? '', name, line: FORMATS[format](profile, options) }
}
