/** Hands profiles out: claims them, flushes, writes the receipt, and prints. What is used and can't be printed is named. */
import { join, resolve } from 'node:path'
import { diskFailure, errnoOf, Failure, reasonOf } from '../failure.ts'
import { decryptor } from '../key/decrypt.ts'
import type { PrivateKey } from '../key/private-key.ts'
import type { HexOptions } from '../profile/hex.ts'
import type { Format } from '../profile/json.ts'
import * as store from '../store/directory.ts'
import { type Messages, several } from '../words.ts'
import { Call, type Taken } from './take.ts'

export interface Order {
  readonly directory: string
  readonly key: PrivateKey
  /** How many profiles; as many as there are devices, and 1 with an ICCID. */
  readonly count: number
  readonly devices?: readonly string[] | undefined
  readonly iccid?: string | undefined
  /** Fail if one of the devices has a profile already. */
  readonly isNew?: boolean | undefined
  readonly format: Format
  readonly options: HexOptions
  /** The file that gets a line for each profile. */
  readonly receipt?: string | undefined
  readonly messages: Messages
  /** Aborted by a signal: claim nothing more. */
  readonly stop: AbortSignal
  /** From now on, a signal must not end the process at once. */
  hold(): void
}

/** A profile for a device. */
export type HandedOut = Pick<Taken, 'iccid' | 'name' | 'device' | 'line' | 'isAgain'>

/** Why printing failed, and how many of the profiles a reader may have got. */
export class PrintFailure extends Error {
  readonly begun: number

  constructor(begun: number, cause: unknown) {
    super(reasonOf(cause), { cause })
    this.begun = begun
  }
}

type Print = (profiles: readonly HandedOut[]) => Promise<void>

/**
 * Claims profiles, makes the claims durable, and only then prints them.
 * @param print gets all of them, in the order of the devices; throws PrintFailure
 * @throws {Failure} after printing nothing, or with the names of the profiles that are used and were not printed
 */
export async function handOut(order: Order, print: Print): Promise<void> {
  const { directory, devices, key, messages } = order
  let call: Call | undefined
  let receipt: store.ReceiptFile | undefined
  let taken: Taken[] = []
  try {
    store.enter(directory, messages, devices !== undefined)
    await store.finishStick(directory, messages)
    receipt = order.receipt === undefined ? undefined : store.openReceipt(order.receipt, [directory])
    const decrypt = await decryptor(key, order.count)
    call = new Call({ ...order, decrypt })
    taken = await call.take()
    flushAgain(taken, directory)
    receipt?.append(receiptsOf(taken, directory))
    await print(taken)
  } catch (error) {
    const used = taken.length > 0 ? taken : (call?.used ?? [])
    throw used.length > 0
      ? undelivered(used, order, receipt, error)
      : diskFailure(`can't claim profiles in ${directory}`, error)
  }
  store.clear(taken.map(({ claim }) => claim))
  tellOf(taken, call, order)
}

/** What was used before may not be durable: whoever claimed it flushes it, or was killed. */
function flushAgain(taken: readonly Taken[], directory: string): void {
  const again = taken.filter(({ isAgain }) => isAgain)
  // In this order: on btrfs, the flush of a file brings its name, and no other one.
  if (again.length > 0) store.flushDirectory(directory)
  for (const { name } of again) store.flushFile(join(directory, store.usedName(name)))
}

const receiptsOf = (taken: readonly Taken[], directory: string): store.Receipt[] => {
  const time = new Date().toISOString()
  const from = store.identityIn(directory)
  return taken.map(({ iccid, device, isAgain }) => ({
    ...{ time, station: store.stationName(), device: device ?? null, iccid },
    ...{ directory: resolve(directory), from },
    ...(isAgain && { again: true as const }),
  }))
}

function tellOf(taken: readonly Taken[], call: Call, { directory, messages }: Order): void {
  for (const { iccid, device, name, cautions } of taken) {
    for (const caution of cautions) messages.warn(caution)
    const whose = device === undefined ? '' : ` to device ${device}`
    messages.tell(1, `handed out ${iccid}${whose}, now ${join(directory, store.usedName(name))}`)
  }
  call.skipped.warn(messages)
  const { left, listing } = call.unused
  if (left !== undefined)
    messages.tell(
      1,
      left === 0
        ? `no unused profile left in ${directory}`
        : `at most ${several(left, 'unused profile')} left in ${directory}`,
    )
  try {
    if (listing !== undefined) store.removeRubbish(directory, listing, messages)
  } catch (error) {
    // The profiles are out.
    if (errnoOf(error) === undefined) throw error
  }
}

/** Names the profiles that are used, or may be, and were not printed. */
function undelivered(
  all: readonly Pick<Taken, 'iccid' | 'name'>[],
  { directory, messages, stop, devices, isNew }: Order,
  receipt: store.ReceiptFile | undefined,
  error: unknown,
): Failure {
  const begun = error instanceof PrintFailure ? error.begun : 0
  const named = all.map(({ iccid, name }) => `${iccid} (${join(directory, store.usedName(name))})`)
  const maybe = named.slice(0, begun)
  const not = named.slice(begun)
  if (named.length > 1) {
    for (const each of maybe) messages.warn(`claimed and may have been printed: ${each}`)
    for (const each of not) messages.warn(`claimed but not printed: ${each}`)
  }
  const which = named.length === 1 ? named[0] : `${named.length} profiles, listed above`
  const what = begun > 0 ? 'claimed and may have been printed' : 'claimed but not printed'
  const cause = error instanceof PrintFailure ? error.cause : error
  const hint =
    devices !== undefined
      ? `run the same command again${isNew ? ' without --new' : ''}: each device gets the same profile`
      : `the same command takes other profiles; to print one of these, add --iccid and its ICCID, instead of -n`
  const outcome = stop.aborted ? 'interrupted' : cause instanceof Failure ? cause.outcome : 'disk'
  const lost = receipt === undefined ? '' : `; the receipt ${receipt.path} may have a line for each`
  return new Failure(outcome, `${what}: ${which}: ${reasonOf(cause)}`, hint + lost, cause)
}
