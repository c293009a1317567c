import { reasonOf } from '../failure.ts'
import { decryptor } from '../key/decrypt.ts'
import { readKey } from '../key/private-key.ts'
import { NRF_REJECTS } from '../profile/validate.ts'
import { FLUSHES_AT_ONCE } from '../store/flush/flush.ts'
import { enter, refuseCopy } from '../store/identity.ts'
import { isStoring } from '../store/incoming/answers.ts'
import { checkOpenFiles } from '../store/open-files.ts'
import { checkDirectory, openDirectory } from '../store/read.ts'
import { checkReceiptFile, ReceiptFile } from '../store/receipts/append.ts'
import type { Level, Messages } from '../words.ts'
import { deliver, undelivered, usedPath } from './deliver.ts'
import { tellOfStock } from './low-stock.ts'
import { asUnsure, type Signals, type Source, Undelivered } from './ready.ts'
import { checkNamed, type Taken, take, type Wish } from './take.ts'

export interface Handout extends Omit<Source, 'decrypt' | 'key' | 'signals'>, Wish {
  readonly keyPath: string
  readonly passphrase: string | undefined
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
  listen(): { readonly stop: AbortSignal; hold(): void }
}

/**
 * Claims profiles, makes the claims durable, and only then prints the profiles, one per line.
 * @throws {Failure} after printing nothing, or with the names of the profiles that were claimed but not delivered
 */
export async function handOut(handout: Handout): Promise<void> {
  const { directory, devices, iccid } = handout
  const count = devices?.length ?? handout.count
  const key = readKey(handout.keyPath, handout.passphrase, handout.messages)
  if (handout.isDry) {
    checkDirectory(directory)
    refuseCopy(directory, handout.receipt)
    if (iccid !== undefined) await checkNamed({ directory, key }, iccid)
    if (handout.receipt !== undefined) checkReceiptFile(handout.receipt, directory, count, { devices })
    return handout.messages.tell(
      0,
      `checked the key and ${directory}; no profile was opened, and nothing was claimed`,
    )
  }
  const messages = heldBack(handout.messages)
  const begin = enter(directory, messages, handout.receipt)
  const { stop, hold } = handout.listen()
  const signals: Signals = {
    stop,
    // From the claim on, messages are kept back too, and the directory is used.
    beforeClaim() {
      hold()
      messages.hold()
      begin()
    },
  }
  if (isStoring(directory)) await tryToFinishFetches(directory, messages)
  const opened = openDirectory(directory)
  if (count > 1) checkOpenFiles(directory, Math.min(count, FLUSHES_AT_ONCE))
  const receipt =
    handout.receipt === undefined
      ? undefined
      : new ReceiptFile(handout.receipt, directory, count, { devices })
  const decrypt = await decryptor(key, count)
  const source = { ...handout, key, decrypt, messages, signals }
  const delivery = { ...source, urgent: handout.messages, opened, receipt }
  try {
    const taken = await take(source, { ...handout, count }).catch(async (error) => {
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

/** Profiles that an interrupted call received but did not store are unused profiles too. */
async function tryToFinishFetches(directory: string, messages: Messages): Promise<void> {
  try {
    const { finishFetches } = await import('../store/incoming/recover.ts')
    await finishFetches(directory, messages)
  } catch (error) {
    messages.warn(`profiles that an interrupted call received can't be stored: ${reasonOf(error)}`)
  }
}

/**
 * Keeps messages back between the claim and the delivery: writing one can take long, or forever if nobody reads
 * standard error, and the profile must not wait for that.
 */
function heldBack(messages: Messages) {
  let held: (() => void)[] | undefined
  const pass = (print: () => void): void => {
    if (held === undefined) print()
    else held.push(print)
  }
  return {
    warn: (...warning: Parameters<Messages['warn']>) => pass(() => messages.warn(...warning)),
    tell: (level: Level, text: string) => pass(() => messages.tell(level, text)),
    /** From now on, keeps messages back. */
    hold(): void {
      held ??= []
    },
    /** Prints what was kept back, in its order, and from now on every message at once. */
    release(): void {
      const all = held ?? []
      held = undefined
      for (const print of all) print()
    },
  }
}
