import type { KeyObject } from 'node:crypto'
import { type Fault, UnusableProfile } from '../failure.ts'
import { type Decrypt, decryptor } from '../key/decrypt.ts'
import { KeyTrial } from '../key/wrong-key.ts'
import { newerProblems } from '../profile/check.ts'
import { parsePlaintext, parseStored, refuseOutdated } from '../profile/parse.ts'
import { refuseOwned } from '../store/devices.ts'
import type { IccidList } from '../store/iccid-list.ts'
import { fileName } from '../store/names.ts'
import { readProfile } from '../store/read.ts'
import type { Messages } from '../words.ts'

/** Enough to keep all processors busy, and few enough to stop early if the key is wrong. */
const AT_ONCE = 64

const MOST_WARNINGS = 20

/** What a device would get by default, in `hex`. */
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
 * @param most how many to open at most, the lowest first
 * @param onProgress receives the number of profiles checked so far
 * @throws {Failure} `key` if too many in a row do not decrypt, or if none does
 */
export async function checkProfiles(
  directory: string,
  iccids: IccidList,
  most: number,
  key: KeyObject,
  messages: Messages,
  onProgress: (checked: number) => void,
): Promise<Checked> {
  const result: Checked = { checked: 0, usable: 0, faults: { damaged: 0, locked: 0, unfit: 0, held: 0 } }
  const trial = new KeyTrial('')
  const count = Math.min(most, iccids.length)
  const decrypt = await decryptor(key, count)
  const warnings: string[] = []
  let more = 0
  for (let at = 0; at < count; at += AT_ONCE) {
    const names = iccids.slice(at, Math.min(at + AT_ONCE, count)).map(fileName)
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
        if (warnings.length < MOST_WARNINGS) warnings.push(`${names[index]}: ${error.message}`)
        else more++
      }
      if (error?.fault === 'locked') trial.noteLocked()
      else if (error === undefined || error.fault === 'unfit') trial.noteOpened()
    }
    onProgress(result.checked)
  }
  if (trial.isWrong) throw trial.failure()
  for (const warning of warnings) messages.warn(warning)
  if (more > 0) messages.warn(`${more} more can't be used`)
  return result
}

/** @returns false if there is no such file */
async function check(directory: string, name: string, decrypt: Decrypt): Promise<boolean> {
  const text = readProfile(directory, name)
  if (text === undefined) return false
  refuseOwned(text)
  const sealed = parseStored(name, text)
  const profile = parsePlaintext(sealed, await decrypt(sealed.ciphertext), OPTIONS)
  refuseOutdated(newerProblems(profile, true))
  return true
}
