import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Messages, several } from '../../words.ts'
import { fileName } from '../names.ts'
import { find } from './already-stored.ts'
import { parseProfile, type StoredProfile } from './answers.ts'
import { targetOf } from './target-directory.ts'

/** The vendor's tool lists all that it has received, and may have ended before it stored all of it. */
export function warnOfVendorList(directory: string, messages: Messages): void {
  const listed = listIn(directory)
  if (listed.length === 0) return
  const target = targetOf(directory)
  const missing = listed.filter(({ iccid }) => find(target, fileName(iccid)) === undefined)
  if (missing.length === 0) return
  messages.warn(`${several(missing.length, 'profile')} of profiles.json not in ${directory}`, 'only-listed')
  for (const { iccid } of missing) messages.tell(1, `${iccid} is only in profiles.json`)
}

function listIn(directory: string): StoredProfile[] {
  try {
    const list: unknown[] = JSON.parse(readFileSync(join(directory, 'profiles.json'), 'utf8'))
    return list.flatMap((each) => parseProfile(JSON.stringify(each)) ?? [])
  } catch {
    return []
  }
}
