import type { KeyObject } from 'node:crypto'
import type { Report } from '../cli/report.ts'
import type { Decrypt } from '../profile/decrypt.ts'
import { iccidDigits } from '../profile/iccid.ts'
import { parsePlaintext, parseStored } from '../profile/open.ts'
import type { HexOptions, Profile } from '../profile/profile.ts'
import { readProfile } from '../store/read.ts'

/** Where profiles come from, and what is needed to read them. */
export interface Source {
  readonly directory: string
  readonly key: KeyObject
  readonly options: HexOptions
  /** Makes the line that is printed of a profile. */
  readonly encode: (profile: Profile) => string
  readonly report: Report
  /** Throws where something speaks against claiming what is ready. */
  readonly beforeClaim: (ready: readonly Ready[]) => void
}

/** A profile that opens and that a device would accept. */
export interface Ready {
  readonly iccid: string
  /** The name of its file while it is unused. */
  readonly name: string
  /** What is printed of it: made before the claim, so that nothing but printing is left to go wrong after it. */
  readonly line: string
}

/**
 * Reads, decrypts, checks and encodes one profile.
 * @param name of its file while it is unused
 * @param file the name it has now
 * @returns undefined where there is no such file
 * @throws {Refusal | UnusableFile}
 */
export async function makeReady(
  { directory, options, encode, report }: Source,
  decrypt: Decrypt,
  name: string,
  file = name,
): Promise<Ready | undefined> {
  report.tell(2, `reading ${file}`)
  const text = readProfile(directory, file)
  if (text === undefined) return undefined
  const sealed = parseStored(name, text)
  const plaintext = await decrypt(sealed.ciphertext)
  return {
    iccid: iccidDigits(sealed.iccid) ?? '',
    name,
    line: encode(parsePlaintext(sealed, plaintext, options)),
  }
}
