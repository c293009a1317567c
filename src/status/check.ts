import type { KeyObject } from 'node:crypto'
import { type Fault, UnusableProfile } from '../failure.ts'
import { type Decrypt, decryptor } from '../key/decrypt.ts'
import { KeyTrial } from '../key/wrong-key.ts'
import { parsePlaintext, parseStored } from '../profile/parse.ts'
import { fileName } from '../store/names.ts'
import { readProfile } from '../store/read.ts'
import type { Messages } from '../words.ts'

/** Enough to keep all processors busy, and few enough to stop early if the key is wrong. */
const AT_ONCE = 64

const MOST_WARNINGS = 20

/** What a device would get by default. */
const OPTIONS = { smsp: false, smsc: true, crc: true }

/** How many unused profiles were opened, and what was found. */
export interface Checked {
  checked: number
  /** They decrypt, and a device would accept them. */
  usable: number
  /** Of the others: torn or not a profile, not decrypted by the key, rejected by a device, or held by a program. */
  readonly faults: Record<Fault, number>
}

/**
 * Opens unused profiles without claiming them.
 * @param onProgress receives the number of profiles checked so far
 * @throws {Failure} `key` if too many in a row do not decrypt, or if none does
 */
export async function checkProfiles(
  directory: string,
  iccids: readonly string[],
  key: KeyObject,
  messages: Messages,
  onProgress: (checked: number) => void,
): Promise<Checked> {
  const result: Checked = { checked: 0, usable: 0, faults: { damaged: 0, locked: 0, unfit: 0, held: 0 } }
  const trial = new KeyTrial('')
  const decrypt = await decryptor(key, iccids.length)
  const warnings: string[] = []
  for (let at = 0; at < iccids.length; at += AT_ONCE) {
    const names = iccids.slice(at, at + AT_ONCE).map(fileName)
    const results = await Promise.allSettled(names.map((name) => check(directory, name, decrypt)))
    for (const [index, each] of results.entries()) {
      // A station has claimed it in the meantime.
      if (each.status === 'fulfilled' && !each.value) continue
      result.checked++
      const error = each.status === 'rejected' ? each.reason : undefined
      if (error === undefined) result.usable++
      else if (!(error instanceof UnusableProfile)) throw error
      else {
        result.faults[error.fault]++
        warnings.push(`${names[index]}: ${error.message}`)
      }
      if (error?.fault === 'locked') trial.noteLocked()
      else if (error === undefined || error.fault === 'unfit') trial.noteOpened()
    }
    onProgress(result.checked)
  }
  if (trial.isWrong) throw trial.failure()
  for (const warning of warnings.slice(0, MOST_WARNINGS)) messages.warn(warning)
  const more = warnings.length - MOST_WARNINGS
  if (more > 0) messages.warn(`${more} more can't be used`)
  return result
}

/** @returns false if there is no such file */
async function check(directory: string, name: string, decrypt: Decrypt): Promise<boolean> {
  const text = readProfile(directory, name)
  if (text === undefined) return false
  const sealed = parseStored(name, text)
  parsePlaintext(sealed, await decrypt(sealed.ciphertext), OPTIONS)
  return true
}
