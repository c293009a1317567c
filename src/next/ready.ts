import type { KeyObject } from 'node:crypto'
import type { Decrypt } from '../profile/decrypt.ts'
import { encodeHex } from '../profile/hex.ts'
import { iccidDigits } from '../profile/iccid.ts'
import { encodeJson, encodeRaw } from '../profile/json.ts'
import { parsePlaintext, parseStored } from '../profile/parse.ts'
import type { HexOptions } from '../profile/profile.ts'
import { readProfile } from '../store/read.ts'
import type { Messages } from '../words.ts'

/** Each encoder returns one line without its newline. */
const FORMATS = { hex: encodeHex, json: encodeJson, raw: encodeRaw }

export type Format = keyof typeof FORMATS

export interface Source {
  readonly directory: string
  readonly key: KeyObject
  readonly format: Format
  /** Also selects the fields to check: those that the device gets. */
  readonly options: HexOptions
  readonly messages: Messages
  readonly signals: Signals
}

export interface Signals {
  readonly stop: AbortSignal
  /** From now on, no signal ends the process at once, because profiles are claimed. */
  hold(): void
}

/** A profile that decrypts and that a device would accept. */
export interface Ready {
  /** The digits, without a filler. */
  readonly iccid: string
  /** The name of the unused file. */
  readonly name: string
  /** The output, made before the claim, so that only printing can fail after it. */
  readonly line: string
}

/**
 * @param name the name of the unused file
 * @param file its current name
 * @returns undefined if there is no such file
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
