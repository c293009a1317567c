import { reasonOf } from '../failure.ts'
import { readKey } from '../key/private-key.ts'
import { NRF_REJECTS } from '../profile/validate.ts'
import { FLUSHES_AT_ONCE } from '../store/flush/flush.ts'
import { enter, refuseCopy } from '../store/identity.ts'
import { isStoring } from '../store/incoming/answers.ts'
import { checkOpenFiles } from '../store/open-files.ts'
import { checkDirectory, openDirectory } from '../store/read.ts'
import { checkReceiptFile, ReceiptFile } from '../store/receipts/append.ts'
import type { Messages } from '../words.ts'
import { deliver, undelivered, usedPath } from './deliver.ts'
import { HeldMessages } from './held-messages.ts'
import { tellOfStock } from './low-stock.ts'
import { asUnsure, type Signals, type Source, type Taken, Undelivered } from './ready.ts'
import { checkByIccid, takeByIccid } from './take/by-iccid.ts'
import { takeForDevices } from './take/for-devices.ts'
import { takeNextUnused } from './take/next-unused.ts'

export type { Format } from './ready.ts'

export interface Handout extends Omit<Source, 'key' | 'signals'> {
  readonly keyPath: string
  readonly passphrase: string | undefined
  /** 1 if `iccid` is given. */
  readonly count: number
  /** Take this profile, used or not. If undefined, take the next ones. */
  readonly iccid: string | undefined
  /** The serial numbers of the devices that profiles are wanted for; one if `iccid` is given. */
  readonly devices: readonly string[] | undefined
  /** Fail if one of the devices has a profile already. */
  readonly isNew?: boolean | undefined
  /** Only check what can be checked before a claim. */
  readonly isDry?: boolean | undefined
  /** The file that receives a line for each profile. */
  readonly receipt: string | undefined
  /** Warn if at most this many unused profiles are known to be left. */
  readonly lowStock: number | undefined
  /**
   * From now on, signals are handled. It is called when the key is there: no handler can run while the call waits for a
   * key from a pipe or the keyboard, and a signal must end it then.
   */
  listen(): Signals
}

/**
 * Claims profiles, makes the claims durable, and only then prints the profiles, one per line.
 * @throws {Failure} after printing nothing, or with the names of the profiles that were claimed but not delivered
 */
export async function handOut(handout: Handout): Promise<void> {
  const { directory, devices, format, iccid, keyPath, options } = handout
  const count = devices?.length ?? handout.count
  const key = readKey(keyPath, handout.passphrase, handout.messages)
  if (handout.isDry) {
    checkDirectory(directory)
    refuseCopy(directory, handout.receipt)
    if (iccid !== undefined) await checkByIccid(directory, iccid)
    if (handout.receipt !== undefined) checkReceiptFile(handout.receipt, directory, count, { devices })
    return handout.messages.tell(0, `checked the key and ${directory}; nothing was claimed`)
  }
  const messages = new HeldMessages(handout.messages)
  const begin = enter(directory, messages, handout.receipt)
  const signals = atTheClaim(messages, begin, handout.listen())
  if (isStoring(directory)) await tryToFinishFetches(directory, messages)
  const opened = openDirectory(directory)
  if (count > 1) checkOpenFiles(directory, Math.min(count, FLUSHES_AT_ONCE))
  const receipt =
    handout.receipt === undefined
      ? undefined
      : new ReceiptFile(handout.receipt, directory, count, { devices })
  const source = { directory, key, format, options, messages, signals }
  const { isNew } = handout
  const delivery = {
    directory,
    iccid,
    isNew,
    keyPath,
    messages,
    urgent: handout.messages,
    signals,
    opened,
    receipt,
  }
  try {
    const taken = await taking(source, handout).catch(async (error) => {
      if (!(error instanceof Undelivered)) throw error
      // What is named stays claimed, also after a power cut; if it can't be flushed, it may become unused again.
      const named = await opened.flush().then(
        () => error.taken,
        () => error.taken.map(asUnsure),
      )
      throw undelivered(named, delivery, error.cause)
    })
    await deliver(taken.taken, delivery)
    tellOf(taken, directory, messages)
    tellOfStock(taken.left, handout, messages)
  } finally {
    messages.release()
  }
}

/** From the claim on, messages are kept back too, and the directory is used. */
function atTheClaim(messages: HeldMessages, begin: () => void, signals: Signals): Signals {
  return {
    stop: signals.stop,
    hold() {
      signals.hold()
      messages.hold()
      begin()
    },
  }
}

function tellOf({ taken }: Taken, directory: string, messages: Messages): void {
  for (const { iccid, device, newerProblems, missingKeys, ...each } of taken) {
    const whose = device === undefined ? '' : ` to device ${device}`
    messages.tell(1, `handed out ${iccid}${whose}, now ${usedPath(directory, each)}`)
    if (missingKeys.length > 0)
      messages.warn(`${iccid} has no ${missingKeys.join(' and no ')}: ${NRF_REJECTS}`)
    if (newerProblems.length === 0) continue
    messages.warn(
      `newer devices would reject ${iccid}: ${newerProblems.join(', ')}; printed only because it was handed out before: if the device rejects it, put the device aside`,
    )
  }
}

function taking(source: Source, { iccid, devices, count, isNew }: Handout): Promise<Taken> {
  if (devices !== undefined) return takeForDevices(source, devices, { iccid, isNew })
  return iccid === undefined ? takeNextUnused(source, count) : takeByIccid(source, iccid)
}

/** Profiles that an interrupted call received but did not store are unused profiles too. */
async function tryToFinishFetches(directory: string, messages: Messages): Promise<void> {
  try {
    const { finishFetches } = await import('../store/incoming/recover.ts')
    await finishFetches(directory, messages)
  } catch (error) {
    messages.warn(`profiles that an interrupted call received can't be stored: ${reasonOf(error)}`)
  }
}
