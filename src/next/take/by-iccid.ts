import { Failure, UnusableProfile } from '../../failure.ts'
import { type Decrypt, decryptor } from '../../profile/decrypt.ts'
import { iccidDigits } from '../../profile/iccid.ts'
import { claim, finishClaim } from '../../store/claim.ts'
import { deviceIn } from '../../store/devices.ts'
import { fileName, spellings, usedName } from '../../store/names.ts'
import { checkDirectory } from '../../store/read.ts'
import { beforeClaim } from '../deliver.ts'
import { makeReady, notHandedOut, type Ready, type Source, type Taken } from '../ready.ts'

/**
 * The one profile that was asked for by its ICCID: claimed if it is unused, and had again if it is used. Somebody who
 * names it knows which device it is for.
 * @throws {Failure} `usage`, `no-profiles`, `unusable`, `key` or `disk`; nothing is claimed then
 */
export async function takeByIccid(source: Source, iccid: string): Promise<Taken> {
  const { directory, messages } = source
  const digits = iccidDigits(iccid)
  if (digits === undefined)
    throw new Failure('usage', '--iccid is not 1 to 20 digits', { hint: 'softsim help next' })
  const names = spellings(fileName(digits))
  const decrypt = await decryptor(source.key, 1)
  for (const name of names) {
    // A call may have been cut off between the two steps of its claim: then the contents are still in the unused file.
    finishClaim(directory, name)
    const used = await open(source, decrypt, name, usedName(name))
    if (used === undefined) continue
    beforeClaim([used], source.signals)
    const device = deviceIn(used.stored)
    const which = device === undefined ? 'the same device' : `device ${device}`
    messages.warn(`${used.iccid} was handed out before: it must go into ${which}`)
    return { taken: [{ ...used, isAgain: true, ...(device === undefined ? {} : { device }) }] }
  }
  for (const name of names) {
    const unused = await open(source, decrypt, name, name)
    if (unused === undefined) continue
    beforeClaim([unused], source.signals)
    if (claimNamed(directory, name)) return { taken: [unused] }
    throw new Failure('no-profiles', `another call claimed ${digits} at this moment`, {
      hint: 'if it was for the same device, run the same command again',
    })
  }
  // Where the directory itself is missing, that is what to tell.
  checkDirectory(directory)
  throw new Failure('no-profiles', `there is no profile ${digits} in ${directory}`)
}

/** @throws {Failure} `unusable` or `disk` */
function claimNamed(directory: string, name: string): boolean {
  try {
    return claim(directory, name)
  } catch (error) {
    throw error instanceof UnusableProfile ? notHandedOut(name, error) : error
  }
}

/** @throws {Failure} `key` or `unusable`: there is no other one to take instead */
async function open(
  source: Source,
  decrypt: Decrypt,
  name: string,
  file: string,
): Promise<Ready | undefined> {
  try {
    return await makeReady(source, decrypt, name, file)
  } catch (error) {
    throw error instanceof UnusableProfile ? notHandedOut(file, error) : error
  }
}
