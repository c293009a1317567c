import { Failure } from './errors.ts'
import { iccidDigits } from './iccid.ts'
import { decryptor } from './profile/decrypt.ts'
import { parsePlaintext, parseStored, Refusal } from './profile/open.ts'
import { claim, readProfile, Unreadable } from './store/claim.ts'
import { fileName, spellings, usedName } from './store/names.ts'
import type { Ready, Source } from './take.ts'

/**
 * The one profile that was asked for by its ICCID: claimed if it is unused, and had again if it is used. Somebody who
 * names it knows which device it is for.
 * @throws {Failure} `usage`, `no-profiles`, `unusable`, `key` or `disk`; nothing is claimed then
 */
export async function takeNamed(source: Source, iccid: string): Promise<{ ready: Ready; isAgain: boolean }> {
  const { directory } = source
  const digits = iccidDigits(iccid)
  if (digits === undefined)
    throw new Failure('usage', '--iccid is not 1 to 20 digits', { hint: 'softsim help next' })
  const names = spellings(fileName(digits))
  for (const name of names) {
    const used = await open(source, name, usedName(name))
    if (used === undefined) continue
    source.beforeClaim([used])
    return { ready: used, isAgain: true }
  }
  for (const name of names) {
    const unused = await open(source, name, name)
    if (unused === undefined) continue
    source.beforeClaim([unused])
    if (claim(directory, name)) return { ready: unused, isAgain: false }
    throw new Failure('no-profiles', `another call has claimed ${digits} at this moment`, {
      hint: 'if it was for the same device, run the same command again',
    })
  }
  throw new Failure('no-profiles', `there is no profile ${digits} in ${directory}`)
}

async function open(
  { directory, key, options }: Source,
  name: string,
  file: string,
): Promise<Ready | undefined> {
  try {
    const text = readProfile(directory, file)
    if (text === undefined) return undefined
    const sealed = parseStored(name, text)
    const decrypt = await decryptor(key, 1)
    return {
      iccid: iccidDigits(sealed.iccid) ?? '',
      name,
      profile: parsePlaintext(sealed, await decrypt(sealed.ciphertext), options),
    }
  } catch (error) {
    if (!(error instanceof Refusal || error instanceof Unreadable)) throw error
    const outcome = error instanceof Refusal && error.fault === 'locked' ? 'key' : 'unusable'
    throw new Failure(outcome, `${file} can't be handed out: ${error.message}`, { cause: error })
  }
}
