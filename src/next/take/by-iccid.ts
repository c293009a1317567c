import { Failure, UnusableProfile } from '../../failure.ts'
import { type Decrypt, decryptor } from '../../key/decrypt.ts'
import { claim, finishClaim } from '../../store/claim.ts'
import { deviceIn } from '../../store/devices.ts'
import { fileName, spellings, usedName } from '../../store/names.ts'
import { checkDirectory } from '../../store/read.ts'
import type { Messages } from '../../words.ts'
import { beforeClaim } from '../deliver.ts'
import { makeReady, notHandedOut, type Ready, type Source, type Taken } from '../ready.ts'

/**
 * A used profile is read again: a user who gives the ICCID knows which device it is for.
 * @param iccid its digits
 * @throws {Failure} `no-profiles`, `unusable`, `key` or `disk`; in each case, nothing is claimed
 */
export async function takeByIccid(source: Source, iccid: string): Promise<Taken> {
  const { directory, messages } = source
  const names = spellings(fileName(iccid))
  const decrypt = await decryptor(source.key, 1)
  for (const name of names) {
    // A call may have been killed between the two steps of its claim. The contents are then still in the unused file.
    finishClaim(directory, name)
    const used = await open(source, decrypt, name, usedName(name))
    if (used === undefined) continue
    beforeClaim(source.signals)
    return { taken: [again(used, messages)] }
  }
  for (const name of names) {
    const unused = await open(source, decrypt, name, name)
    if (unused === undefined) continue
    beforeClaim(source.signals)
    if (claimNamed(directory, name)) {
      // Somebody may have renamed a used file back by hand.
      return { taken: [deviceIn(unused.stored) === undefined ? unused : again(unused, messages)] }
    }
    throw new Failure('no-profiles', `another call has just claimed ${iccid}`, {
      hint: 'if that call was for the same device, run this command again',
    })
  }
  // If the directory itself is missing, report that instead.
  checkDirectory(directory)
  throw new Failure('no-profiles', `no profile ${iccid} in ${directory}`, {
    hint: 'check the ICCID and -i',
  })
}

/** Warns of the device that may have it. */
function again(ready: Ready, messages: Messages): Ready {
  const device = deviceIn(ready.stored)
  const which = device === undefined ? 'the same device' : `device ${device}`
  messages.warn(`${ready.iccid} was handed out before: use it only for ${which}`)
  return { ...ready, isAgain: true, ...(device === undefined ? {} : { device }) }
}

/** @throws {Failure} `unusable` or `disk` */
function claimNamed(directory: string, name: string): boolean {
  try {
    return claim(directory, name)
  } catch (error) {
    throw error instanceof UnusableProfile ? notHandedOut(name, error) : error
  }
}

/** @throws {Failure} `key` or `unusable`: no other profile can replace this one */
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
