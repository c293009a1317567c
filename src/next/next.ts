/** Hands profiles out: claims them, flushes, writes the receipt, and prints. What is used and can't be printed is named. */
import { normalize, resolve } from 'node:path'
import { diskFailure, Failure, ifPossible, reasonOf } from '../failure.ts'
import { decryptor } from '../key/private-key.ts'
import * as store from '../store/directory.ts'
import type { Taken } from './ready.ts'
import { Call, type Order } from './take.ts'

export type { Order } from './take.ts'

/** A profile for a device. */
export type HandedOut = Pick<Taken, 'iccid' | 'device' | 'line' | 'isAgain'>

type Print = (profiles: readonly HandedOut[]) => Promise<void>

/**
 * Claims profiles, makes the claims durable, and only then prints them.
 * @param print gets all of them, in the order of the devices
 * @throws {Failure} after printing nothing, or with the names of the profiles that are used, and perhaps not printed
 */
export async function handOut(order: Order, print: Print): Promise<void> {
  const { directory, devices, key, messages } = order
  let call: Call | undefined
  let taken: Taken[] = []
  let what = 'used, but not printed'
  try {
    store.enter(directory, messages, devices !== undefined)
    if (store.isOnFat(directory)) await store.finishStick(directory, messages)
    const receipt = order.receipt === undefined ? undefined : store.openReceipt(order.receipt, [directory])
    call = new Call(order, await decryptor(key, order.count))
    taken = await call.take()
    flushAgain(taken, directory)
    receipt?.append(receiptsOf(taken, directory))
    what = 'used, and perhaps printed'
    await print(taken)
  } catch (error) {
    cleanUp(call, directory, messages)
    const used = taken.length > 0 ? taken : (call?.used ?? [])
    throw used.length > 0
      ? undelivered(what, used, order, error)
      : diskFailure(`can't claim profiles in ${directory}`, error)
  }
  await store.clear(taken)
  tellOf(taken, call, order)
}

/** What was used before may not be durable: whoever claimed it flushes it, or was killed. */
function flushAgain(taken: readonly Taken[], directory: string): void {
  const again = taken.filter(({ isAgain }) => isAgain)
  // In this order: on btrfs, the flush of a file brings its name, and no other one.
  if (again.length > 0) store.flushDirectory(directory)
  for (const { places } of again) store.flushFile(places.used)
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
  for (const { iccid, device, places, cautions } of taken) {
    for (const caution of cautions) messages.warn(caution)
    const whose = device === undefined ? '' : ` to device ${device}`
    messages.tell(1, `handed out ${iccid}${whose}, now ${normalize(places.used)}`)
  }
  cleanUp(call, directory, messages)
}

/** Removes what may withhold a profile, if it can: the profiles are out, or something else has failed. */
function cleanUp(call: Call | undefined, directory: string, messages: Order['messages']): void {
  const listing = call?.unused.listing
  if (listing !== undefined) ifPossible(() => store.removeRubbish(directory, listing, messages))
}

/** Names the profiles that are used, and of which nothing may be used that was printed. */
function undelivered(
  what: string,
  all: readonly store.Claim[],
  { directory, messages, stop, devices, iccid, isNew, receipt }: Order,
  error: unknown,
): Failure {
  const named = all.map(({ iccid, places }) => `${iccid} (${normalize(places.used)})`)
  if (named.length > 1) for (const each of named) messages.warn(`${what}: ${each}`)
  const which = named.length === 1 ? named[0] : `${named.length} profiles, listed above`
  const hint =
    devices !== undefined
      ? `run the same command again${isNew ? ' without --new' : ''}: each device gets the same profile`
      : `if no device has it, softsim next -k KEY -i ${directory} --iccid ${all.length === 1 ? all[0]?.iccid : 'ICCID'} prints it again${iccid === undefined ? '; the same command takes others' : ''}`
  const outcome = stop.aborted ? 'interrupted' : error instanceof Failure ? error.outcome : 'disk'
  const lost = receipt === undefined ? '' : `; the receipt ${receipt} may have a line for each`
  return new Failure(outcome, `${what}: ${which}: ${reasonOf(error)}`, hint + lost, error)
}
