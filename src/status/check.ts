/** `status -k`: opens unused profiles with the key, and says which a device would accept. */
import { join } from 'node:path'
import { type Fault, UnusableProfile } from '../failure.ts'
import type { PrivateKey } from '../key/private-key.ts'
import { type Decrypt, decryptor } from '../key/private-key.ts'
import {
  missingKeys,
  NRF_REJECTS,
  newerProblems,
  parsePlaintext,
  parseStored,
  refuseOutdated,
} from '../profile/check.ts'
import { HEX_OPTIONS } from '../profile/hex.ts'
import { readText } from '../store/directory.ts'
import { type Messages, type Progress, several } from '../words.ts'
import { warnOfEach } from './print.ts'

/** How many unused profiles were opened, how many of them a device would accept, and what is wrong with the others. */
export type Checked = Record<'checked' | 'usable' | Fault, number>

/** Whether the key is wrong: there is something to decrypt, and it decrypts nothing. */
export const isWrongKey = ({ usable, locked, unfit }: Checked) => locked > 0 && usable + unfit === 0

/** Enough to keep all processors busy. */
const AT_ONCE = 64

/**
 * Opens unused profiles without claiming them, and names those that can't be used.
 * @param names X of each
 */
export async function checkProfiles(
  directory: string,
  names: readonly string[],
  key: PrivateKey,
  { messages, progress }: { messages: Messages; progress: Pick<Progress, 'follow'> },
): Promise<Checked> {
  const found: Checked = { checked: 0, usable: 0, damaged: 0, locked: 0, unfit: 0, unreadable: 0 }
  progress.follow(() => `${found.checked} of ${several(names.length, 'profile')} checked`)
  const decrypt = await decryptor(key, names.length)
  const warnings: string[] = []
  let withoutKeys = 0
  for (let at = 0; at < names.length; at += AT_ONCE) {
    const some = names.slice(at, at + AT_ONCE)
    for (const result of await Promise.all(some.map((name) => open(directory, name, decrypt)))) {
      // A station has claimed it in the meantime.
      if (result === undefined) continue
      found.checked++
      found[result.fault ?? 'usable']++
      if (result.fault !== undefined) warnings.push(`${result.name}: ${result.why}`)
      else if (result.isWithoutKeys) withoutKeys++
    }
    // All of them can take long, and most likely it is the wrong key.
    if (at === 0 && names.length > AT_ONCE && isWrongKey(found))
      messages.warn('the key decrypts none of the first profiles: it may be the wrong one; Ctrl-C ends this')
  }
  warnOfEach(messages, warnings, "can't be used")
  if (withoutKeys > 0) messages.warn(`${several(withoutKeys, 'profile')} without KIC or KID: ${NRF_REJECTS}`)
  return found
}

/** @returns undefined if there is no such file */
async function open(directory: string, name: string, decrypt: Decrypt) {
  try {
    const text = readText(join(directory, name))
    if (text === undefined) return undefined
    const stored = parseStored(text, name)
    const plaintext = await decrypt(Buffer.from(stored.profile, 'base64'))
    const profile = parsePlaintext(stored, plaintext, HEX_OPTIONS)
    refuseOutdated(newerProblems(profile, true))
    return { name, isWithoutKeys: missingKeys(profile).length > 0 }
  } catch (error) {
    if (error instanceof UnusableProfile) return { name, fault: error.fault, why: error.message }
    throw error
  }
}
