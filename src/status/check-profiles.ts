import { type Fault, UnusableProfile } from '../failure.ts'
import { type Decrypt, decryptor } from '../key/decrypt.ts'
import type { PrivateKey } from '../key/private-key.ts'
import {
  missingKeys,
  NRF_REJECTS,
  newerProblems,
  parsePlaintext,
  parseStored,
  refuseOutdated,
} from '../profile/validate.ts'
import { fileName } from '../store/names.ts'
import { readProfile } from '../store/read.ts'
import { refuseAssigned } from '../store/used-file.ts'
import { type Messages, several } from '../words.ts'

/** Enough to keep all processors busy. */
const AT_ONCE = 64

const MOST_WARNINGS = 20

/** What a device would get by default, in `hex`. */
const OPTIONS = { smsp: false, smsc: true, crc: true }

/** How many unused profiles were opened, and what was found. */
export interface Checked {
  checked: number
  /** They decrypt, and a device would accept them. */
  usable: number
  /** Of the others: torn or not a profile, not readable now, not decrypted by the key, rejected by a device, or held by a program. */
  readonly faults: Record<Fault, number>
  /** Why the last of the unreadable ones can't be read. */
  unread?: UnusableProfile | undefined
}

/** Whether the key is wrong: there is something to decrypt, and it decrypts nothing. */
export const opensNone = ({ usable, faults }: Checked) => faults.locked > 0 && usable + faults.unfit === 0

interface Check {
  readonly directory: string
  readonly iccids: readonly string[]
  /** How many of them to open, the lowest first. */
  readonly count: number
  readonly key: PrivateKey
  readonly messages: Messages
  /** Receives how many more profiles are checked. */
  readonly onChecked: (more: number) => void
}

/** Opens unused profiles without claiming them, and names those that can't be used. */
export async function checkProfiles(check: Check): Promise<Checked> {
  const { directory, iccids, count, key, messages, onChecked } = check
  const result: Checked = {
    checked: 0,
    usable: 0,
    faults: { damaged: 0, unreadable: 0, locked: 0, unfit: 0, held: 0 },
  }
  const decrypt = await decryptor(key, count)
  const warnings: string[] = []
  let withoutKeys = 0
  for (let at = 0; at < count; at += AT_ONCE) {
    const names = iccids.slice(at, Math.min(at + AT_ONCE, count)).map(fileName)
    const results = await Promise.all(
      names.map(async (name) => [name, await open(directory, name, decrypt)] as const),
    )
    const before = result.checked
    for (const [name, found] of results) {
      // A station has claimed it in the meantime.
      if (found === undefined) continue
      result.checked++
      if (!(found instanceof UnusableProfile)) {
        result.usable++
        if (found.length > 0) withoutKeys++
        continue
      }
      result.faults[found.fault]++
      if (found.fault === 'unreadable') result.unread = found
      const warning = `${name}: ${found.message}`
      if (warnings.length < MOST_WARNINGS) warnings.push(warning)
      else messages.tell(1, warning)
    }
    onChecked(result.checked - before)
    // All of them can take long, and most likely it is the wrong key.
    if (at === 0 && count > AT_ONCE && opensNone(result))
      messages.warn('the key does not decrypt the first profiles', 'locked-first')
  }
  for (const warning of warnings) messages.warn(warning)
  const more = result.checked - result.usable - warnings.length
  if (more > 0) messages.warn(`${more} more can't be used`, 'unlisted')
  if (withoutKeys > 0) messages.warn(`${several(withoutKeys, 'profile')} without KIC or KID: ${NRF_REJECTS}`)
  return result
}

/** @returns the keys that a usable profile does without; why it can't be used; undefined if there is no such file */
async function open(
  directory: string,
  name: string,
  decrypt: Decrypt,
): Promise<string[] | UnusableProfile | undefined> {
  try {
    const text = readProfile(directory, name)
    if (text === undefined) return undefined
    refuseAssigned(text)
    const sealed = parseStored(name, text)
    const profile = parsePlaintext(sealed, await decrypt(sealed.ciphertext), OPTIONS)
    refuseOutdated(newerProblems(profile, true))
    return missingKeys(profile)
  } catch (error) {
    if (error instanceof UnusableProfile) return error
    throw error
  }
}
