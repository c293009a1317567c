/** Hands profiles out: claims them, flushes, and prints. What is claimed and can't be delivered is named. */
import { join } from 'node:path'
import { Failure, reasonOf } from '../failure.ts'
import { decryptor } from '../key/decrypt.ts'
import { readKey } from '../key/private-key.ts'
import { NRF_REJECTS } from '../profile/validate.ts'
import { profileOf } from '../store/devices.ts'
import { FLUSHES_AT_ONCE, type OpenDirectory } from '../store/flush/flush.ts'
import { enter, refuseCopy } from '../store/identity.ts'
import { isStoring } from '../store/incoming/answers.ts'
import { checkDirectory, openDirectory } from '../store/listing.ts'
import { usedName } from '../store/names.ts'
import { checkOpenFiles } from '../store/open-files.ts'
import { attempt } from '../store/patience.ts'
import { checkReceiptFile, ReceiptFile } from '../store/receipts/append.ts'
import type { Level, Messages } from '../words.ts'
import { tellOfStock } from './low-stock.ts'
import { asUnsure, type Ready, type Signals, type Source, Undelivered } from './ready.ts'
import { isOnScreen, WriteFailure, writeOutput } from './standard-output.ts'
import { checkNamed, type Taken, take, type Wish } from './take.ts'

interface Handout extends Omit<Source, 'decrypt' | 'key' | 'signals'>, Wish {
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
    refuseCopy(directory, handout.receipt, devices !== undefined)
    if (iccid !== undefined) await checkNamed({ directory, key }, iccid)
    if (handout.receipt !== undefined) checkReceiptFile(handout.receipt, directory, count, { devices })
    for (const device of devices ?? []) {
      const had = attempt(() => profileOf(directory, device))
      if (had !== undefined && (handout.isNew || (iccid ?? had) !== had))
        throw new Failure('has-profile', `device ${device} already has ${had}`)
      if (had !== undefined)
        handout.messages.tell(0, `device ${device} already has ${had}; the same profile would be printed`)
    }
    return handout.messages.tell(
      0,
      `checked the key and ${directory}; no profile was opened, and nothing was claimed`,
    )
  }
  const messages = heldBack(handout.messages)
  const begin = await enter(directory, messages, handout.receipt, devices !== undefined)
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

const SLOW = 'the reader of standard output is slow or does not read: still waiting after 2 s'
const NO_FLUSH =
  "this file system can't flush a directory: after a power cut, the profiles handed out last may be unused again; a local disk is safer"

export interface Delivery
  extends Pick<Source, 'directory' | 'signals' | 'format' | 'options'>,
    Pick<Wish, 'iccid' | 'isNew'> {
  readonly keyPath: string
  /** Kept back until the profiles are delivered. */
  readonly messages: Messages
  /** Not kept back. */
  readonly urgent: Messages
  readonly opened: OpenDirectory
  readonly receipt: ReceiptFile | undefined
}

/**
 * Flushes the claims, then prints the profiles, one per line. The profiles are marked used, so every failure names
 * them, and says which ones a reader may have.
 * @throws {Failure} `disk` or `interrupted`
 */
export async function deliver(taken: readonly Ready[], delivery: Delivery): Promise<void> {
  const { directory, messages, urgent, signals, opened, receipt } = delivery
  // What is claimed by this call was flushed before it got its name.
  const again = taken.filter(({ isAgain }) => isAgain).map((each) => usedPath(directory, each))
  const isFlushed = await opened.flushWith(again).catch((error) => {
    // A power cut may undo a claim that can't be flushed: another call then delivers the profile.
    throw undelivered(taken.map(asUnsure), delivery, error)
  })
  if (!isFlushed) messages.warn(NO_FLUSH)
  try {
    receipt?.append(taken)
    await writeOutput(taken.map(lineOf).join(''), signals.stop, () => urgent.warn(SLOW, 'slow-reader'))
  } catch (error) {
    throw undelivered(taken, delivery, error)
  }
  if (await isOnScreen()) messages.warn('a secret is on the screen', 'on-screen')
}

const usedPath = (directory: string, { name }: Pick<Ready, 'name'>) => join(directory, usedName(name))

const lineOf = ({ line }: Ready) => `${line}\n`

/** Names the profiles that are marked used and were not printed. */
export function undelivered(
  taken: readonly Ready[],
  { keyPath, directory, iccid, isNew, messages, signals, receipt, format, options }: Delivery,
  error: unknown,
): Failure {
  const unsure = taken.filter(({ isUnsure }) => isUnsure).length
  const maybe = error instanceof WriteFailure ? begun(taken, error.possible) : unsure
  const nameOf = (each: Ready) => `${each.iccid} (${usedPath(directory, each)})`
  if (taken.length > 1) {
    for (const each of taken.slice(0, maybe))
      messages.warn(`claimed and may have been delivered: ${nameOf(each)}`)
    for (const each of taken.slice(maybe)) messages.warn(`claimed but not delivered: ${nameOf(each)}`)
  }
  const iccids = taken.map((each) => each.iccid)
  const isForDevices = taken.every(({ device }) => device !== undefined)
  const call = {
    keyPath,
    directory,
    isNamed: iccid !== undefined,
    isNew,
    receipt: receipt?.path,
    format,
    options,
  }
  const facts = { kind: 'undelivered', iccids, begun: maybe, isForDevices, call } as const
  const cause = signals.stop.aborted ? new Failure('interrupted', 'interrupted', error) : error
  return new Failure(facts, `${whatOf(taken.map(nameOf), maybe)}: ${reasonOf(cause)}`, cause)
}

/** How many of the lines a reader may have begun to read. A line that is cut off can be enough for a device. */
function begun(taken: readonly Ready[], bytes: number): number {
  let start = 0
  return taken.filter((each) => {
    const isBegun = start < bytes
    start += Buffer.byteLength(lineOf(each))
    return isBegun
  }).length
}

function whatOf(named: readonly string[], maybe: number): string {
  const [count, not] = [named.length, named.length - maybe]
  const which = count === 1 ? named[0] : `${count} profiles listed above`
  if (not === 0) return `claimed and may have been delivered: ${which}`
  if (maybe === 0) return `claimed but not delivered: ${which}`
  return `claimed but not delivered: ${not} of ${which}; the first ${maybe} may have been delivered`
}
