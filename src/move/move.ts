/**
 * How profiles go to another directory, so that none is ever unused in both. What is decided is decided once, in the
 * target: a list of names and tags. Each step can be made again by the same command, or by two at once. Where profiles
 * left, nothing is left of them.
 */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { diskFailure, Failure, UnusableProfile, UsageError } from '../failure.ts'
import { parseStored } from '../profile/check.ts'
import * as store from '../store/directory.ts'
import { type Messages, type Progress, several } from '../words.ts'

export interface Move {
  readonly source: string
  readonly target: string
  /** How many profiles; Infinity for all. */
  readonly count: number
  /** Take back what an interrupted move has not stored in the target. */
  readonly isBack: boolean
  /** The same, for a target that is lost. */
  readonly isLost: boolean
  readonly receipt?: string | undefined
  readonly stop: AbortSignal
  readonly messages: Messages
  readonly progress: Pick<Progress, 'follow'>
}

/**
 * Moves unused profiles, or finishes the moves from the source that are open in the target: then it moves nothing else.
 * @throws {Failure}
 */
export async function moveProfiles(move: Move): Promise<void> {
  const { source, target, messages } = move
  try {
    const listing = store.look(source)
    if (!move.isBack && !move.isLost) store.makeTarget(target)
    for (const each of move.isLost ? [source] : [source, target]) store.enter(each, messages, false)
    // The guard of a killed call keeps a profile from coming back.
    store.removeRubbish(source, listing, messages)
    if (move.isLost) return await forgetTarget(move)
    const [own, other] = [store.identityOf(source), store.identityOf(target)]
    if (own === other) throw new UsageError('both directories are the same', NOTHING)
    const receipt = move.receipt === undefined ? undefined : store.openReceipt(move.receipt, [source, target])
    // Before the orders. A call that was late may hold something for a move that is finished: that did not come.
    const held = store.listHeld(source).flatMap(({ move }) => move ?? [])
    const noted = store.outgoingIn(source).map(({ id }) => id)
    const inTransit = [...held, ...noted].filter((id) => id.startsWith(`${other}.`))
    // A source that was restored has another identity than its orders.
    const all = store.identitiesOf(source)
    const open = store.ordersIn(target).flatMap((order) => (all.includes(order.source) ? order.id : []))
    // What is on its way into a stick may have no contents there.
    if (!move.isBack && store.isOnFat(source)) await store.finishStick(source, messages)
    let moved = 0
    for (const id of new Set([...open, ...inTransit])) moved += await finish(move, id, receipt)
    if (open.length > 0) {
      const what = move.isBack ? backWords(moved, target) : `${several(moved, 'profile')} moved to ${target}`
      return messages.tell(0, `finished an interrupted move: ${what}; nothing else was moved`)
    }
    refuseOtherDisk(move)
    if (move.isBack) return messages.tell(0, `no interrupted move from ${source} to ${target} is left`)
    await begin(move, own, receipt)
  } catch (error) {
    throw diskFailure(`can't move profiles from ${source} to ${target}`, error, AGAIN)
  }
}

const RESTORED = 'if it was restored, run softsim restore with all receipts for the source, too'
const ORDER_GONE = 'softsim restore for the source, with all receipts, puts aside what is in transit'
const NOTHING = 'check both directories; nothing was moved'
const AGAIN = 'when both disks are there, with room, run the same command again: it finishes the move'

const backWords = (moved: number, target: string) =>
  moved === 0
    ? 'all of it is back'
    : `${several(moved, 'profile')} had come to ${target} before; to move them home, swap the directories`

async function begin(move: Move, source: string, receipt: store.ReceiptFile | undefined): Promise<void> {
  const { count, messages, stop } = move
  await store.finishAnswers(move.source, messages)
  // What a killed call holds must not stay behind, unseen.
  await store.settle(move.source, messages)
  const listing = store.look(move.source)
  // After the look: what came by an order that is closed by now is written by nobody any more.
  if (store.isOnFat(move.source)) await store.finishStick(move.source, messages)
  // What is put aside there may come home.
  const { unused, used, held } = store.look(move.target)
  const there = new Set([...unused, ...used, ...held.map(({ name }) => name)].map(store.iccidOf))
  const names = listing.unused.filter((name) => !there.has(store.iccidOf(name)))
  const both = listing.unused.length - names.length
  if (both > 0)
    messages.warn(`${several(both, 'profile')} in ${move.target} too: not moved; never use both directories`)
  const chosen = names.slice(0, count)
  if (names.length === 0)
    throw new Failure('no-profiles', `no unused profile to move in ${move.source}`, NOTHING)
  if (count < Number.POSITIVE_INFINITY && chosen.length < count) {
    const what = `only ${names.length} of ${count} profiles are unused in ${move.source}`
    throw new Failure('no-profiles', what, 'move fewer, or use --all; nothing was moved')
  }
  if (stop.aborted)
    throw new Failure('interrupted', 'interrupted; nothing was moved', 'run the same command again')
  const id = `${store.identityOf(move.target)}.${store.newTag()}`
  // An order that outlasts an identity would be nobody's.
  await store.flushNames(move.source)
  await store.putOrder(move.target, { id, source, from: resolve(move.source), names: chosen })
  const moved = await finish(move, id, receipt)
  if (moved === 0)
    throw new Failure('no-profiles', 'no profile was moved: taken or unusable', 'see softsim status')
  if (moved < chosen.length && count < Number.POSITIVE_INFINITY)
    messages.warn(
      `${chosen.length - moved} of ${count} were taken by others or can't be used, and were not moved`,
    )
  messages.tell(0, `${several(moved, 'profile')} moved to ${move.target}`)
}

/** @returns how many came, by this call or by others that finish the same move */
async function finish(move: Move, id: string, receipt: store.ReceiptFile | undefined): Promise<number> {
  const { source, target, isBack } = move
  const [own, there] = [store.identityIn(source), store.identityIn(target)]
  const given =
    store.givenIn(target, id) ??
    (isBack || store.isGivenUp(source, id)
      ? await store.give(target, id, [], new Map())
      : await giveHeld(move, id, receipt))
  if (given === undefined) {
    // Somebody else has finished it, unless its target was gone for a moment.
    checkIdentity(target, id.slice(0, id.indexOf('.')))
    if (store.isOpen(target, id))
      throw new Failure('disk', `the order of the move in ${target} can't be read`, AGAIN)
    const { unused, used } = store.look(target)
    const known = new Set([...unused, ...used])
    // What is held there is on its way back, or on: this call is late.
    if (heldBy(source, id).some(({ name }) => known.has(name)))
      throw new Failure('copy', `the order in ${target} is gone, and its profiles are there`, ORDER_GONE)
    await forget(source, id)
    store.removeNote(source, id)
    return 0
  }
  refuseGivenUp(source, target, id, given)
  await store.arriveIn(target, id, given, ({ name, tag = '' }) =>
    store.read(store.placesOf(source, { name, tag }).held),
  )
  await forget(source, id, given.items)
  checkIdentity(source, own)
  refuseGivenUp(source, target, id, given)
  store.closeIn(target, id)
  checkIdentity(target, there)
  store.removeNote(source, id)
  return given.items.length
}

function refuseGivenUp(source: string, target: string, id: string, { items }: store.Given): void {
  if (items.length === 0 || !store.isGivenUp(source, id)) return
  const order = join(target, '.incoming', id)
  throw new Failure(
    'copy',
    `a move of ${several(items.length, 'profile')} to ${target} was given up with --lost, and ${source} has them again`,
    `never use them in ${target}: delete the unused ones that ${join(order, 'given', 'list')} names, then delete ${order}`,
  )
}

/** Whoever obeys status, and gives the same command again, must not move others to the wrong stick. */
function refuseOtherDisk({ source, target }: Move): void {
  const own = `${store.identityIn(target)}.`
  const others = store
    .outgoingIn(source)
    .filter(({ id, to }) => to === resolve(target) && !id.startsWith(own))
  if (others.every(({ id }) => heldBy(source, id).length === 0)) return
  const hint = `connect the disk that the move began with; if it is lost, take them back with --lost; ${RESTORED}`
  throw new Failure('disk', `profiles are in transit to another disk at ${target}`, hint)
}

/** A directory that is not there proves nothing. */
function checkIdentity(directory: string, identity: string): void {
  if (store.identityIn(directory) === identity) return
  throw new Failure('disk', `another directory is at ${directory} now`, AGAIN)
}

/** Holds the profiles of an order, and gives those that it got. */
async function giveHeld(move: Move, id: string, receipt: store.ReceiptFile | undefined) {
  const { source, target, messages, stop, progress } = move
  const order = store.ordersIn(target).find((each) => each.id === id)
  if (order === undefined) return undefined
  store.noteTarget(source, { id, to: resolve(target) })
  const known = new Set(heldBy(source, id).map(({ name }) => name))
  let done = 0
  progress.follow(() => `${done} of ${order.names.length} profiles`)
  for (const name of order.names) {
    if (stop.aborted)
      throw new Failure(
        'interrupted',
        `interrupted; profiles of ${source} may be in transit`,
        'run the same command again: it finishes the move; with --back, it takes it back',
      )
    const places = store.placesOf(source, { name, tag: store.tagFor(id) })
    const isUsable = () => usableText(places.unused, name, messages) !== undefined
    if (!known.has(name)) store.guarded(source, name, () => isUsable() && store.hold(source, name, places))
    if (++done % 256 === 0 || store.isOnFat(source)) await new Promise((next) => setImmediate(next))
  }
  const held = heldBy(source, id)
  // What another call holds for it from now on may not outlast a power cut.
  await store.flushNames(source, ...held.map((each) => store.placesOf(source, each).held))
  const texts = new Map<string, string>()
  const items = held.filter((each) => {
    const text = usableText(store.placesOf(source, each).held, each.name, messages)
    if (text !== undefined) texts.set(each.name, text)
    return text !== undefined
  })
  const time = new Date().toISOString()
  receipt?.append(
    items.map(({ name }) => ({
      ...{ time, station: store.stationName(), device: null, iccid: store.iccidOf(name) ?? '' },
      ...{ directory: resolve(source), to: resolve(target), move: id, from: order.source },
    })),
  )
  return store.give(target, id, items, texts)
}

/** The text of a profile that somebody can use; what can't be used stays, or goes back. */
function usableText(path: string, name: string, messages: Messages): string | undefined {
  try {
    const text = store.readText(path)
    if (text === undefined) return undefined
    parseStored(text, name)
    if (store.parseUsed(text)?.device === undefined) return text
    messages.warn(`${name} is not moved: a device has it`)
  } catch (error) {
    if (!(error instanceof UnusableProfile)) throw error
    messages.warn(`${name} is not moved: ${error.message}`)
  }
  return undefined
}

const heldBy = (source: string, id: string): store.Held[] =>
  store
    .listHeld(source)
    .filter(({ move }) => move === id)
    .sort((one, other) => (one.name < other.name ? -1 : 1))

/**
 * Forgets what has come, by the names and tags of the list; anything else that the move holds is unused again.
 * @param come nothing if the move is finished: what came is gone from here by then
 */
async function forget(source: string, id: string, come: store.Given['items'] = []): Promise<void> {
  const places = come.map(({ name, tag = '' }) => store.placesOf(source, { name, tag }))
  // A cut during the renames on a stick may have left both names. Nothing comes home as long as it is held.
  if (store.isOnFat(source))
    await store.removeAll(places.filter(({ held }) => existsSync(held)).map(({ unused }) => unused))
  await store.removeAll(places.map(({ held }) => held))
  await store.flushNames(source)
  // A removal may have failed because the source was away for a moment: what has come never goes back.
  const tags = new Set(come.map(({ tag }) => tag))
  for (const held of heldBy(source, id)) if (!tags.has(held.tag)) store.letGo(source, held)
  store.flushDirectory(source)
  if (heldBy(source, id).length === 0) return
  const hint = 'run the same command again, on a share an hour after a killed call'
  throw new Failure('disk', `other calls hold profiles of ${source}`, hint)
}

/** Takes back all that is in transit to one target, because a person says that it is lost. */
async function forgetTarget({ source, target, messages }: Move): Promise<void> {
  const held = store.listHeld(source).flatMap(({ move }) => move ?? [])
  const outgoing = store.outgoingIn(source)
  // A call may be late, and hold something for a move that was given up before.
  const late = held.filter((id) => store.isGivenUp(source, id))
  const noted = outgoing.filter(({ to }) => to === resolve(target)).map(({ id }) => id)
  // One that was restored has forgotten the order, and may have handed out what came.
  const isSame = (id: string) => store.identitiesOf(target).some((each) => id.startsWith(`${each}.`))
  if (noted.some(isSame))
    throw new UsageError(
      `${target} is not lost: it is there`,
      `run the move again, or take it back with --back; ${RESTORED}`,
    )
  const lost = new Set([...noted, ...late])
  const count = held.filter((id) => lost.has(id)).length
  if (count === 0) {
    const others = outgoing.map(({ to }) => to)
    const hint = others.length === 0 ? NOTHING : `interrupted moves go to ${others.join(', ')}`
    throw new Failure('no-profiles', `no profile of ${source} is in transit to ${target}`, hint)
  }
  for (const id of lost) {
    store.giveUp(source, id)
    await forget(source, id)
  }
  messages.warn(
    `${several(count, 'profile')} unused again in ${source}: what ${target} has stored of them must never be used; destroy it`,
  )
}
