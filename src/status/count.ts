/** How many profiles of a directory are where, and what a person should know of them. */
import { basename } from 'node:path'
import {
  type Held,
  type Listing,
  look,
  outgoingIn,
  perhapsNotPrinted,
  placesOf,
  readUsed,
  type Used,
  type Waiting,
  waitingIn,
} from '../store/directory.ts'
import { type Messages, several } from '../words.ts'
import { warnOfEach } from './print.ts'

/** Then so many calls change the directory that no two passes agree. */
const MOST_PASSES = 10

/** The most names that are told to a person. */
const MOST_NAMED = 20

/** What the names in a directory say. */
export interface Names extends Listing {
  /** What is held, and not used yet. Beside a used file, such a name is only what the claim has left. */
  readonly open: readonly Held[]
  /** What is to come from another directory, or from a call of `fetch`, and is not here. */
  readonly coming: readonly { readonly name: string; readonly from: string }[]
  readonly requests: Waiting['requests']
}

const FETCH = 'a fetch'

/**
 * Reads names until two passes agree. One pass may miss a file that is renamed meanwhile, or meet it twice.
 * @throws {Failure} `no-profiles` if there is no such directory, `disk` if it can't be read
 */
export function readNames(directory: string, messages: Messages): Names {
  let last = ''
  for (let passes = 1; ; passes++) {
    const [listing, { answers, orders, requests }] = [look(directory), waitingIn(directory)]
    const text = JSON.stringify([listing, answers, orders, requests])
    const isSame = text === last
    last = text
    if (!isSame && passes < MOST_PASSES) continue
    if (!isSame) messages.warn(`other calls change ${directory} all the time: the counts are not exact`)
    const used = new Set(listing.used)
    const here = new Set([...listing.unused, ...used, ...listing.held.map(({ name }) => name)])
    const received = answers.map((name) => ({ name, from: FETCH }))
    const ordered = orders.flatMap(({ names, from }) => names.map((name) => ({ name, from })))
    const coming = [...received, ...ordered].filter(({ name }) => !here.has(name))
    return { ...listing, open: listing.held.filter(({ name }) => !used.has(name)), coming, requests }
  }
}

/**
 * How many profiles a directory has of each kind, in the order in which they are printed: calls hold some, or held them when
 * they were killed; moves take some away; of some, only a request of `fetch` is known; `restore` has put some aside.
 */
export function countsOf(names: Names) {
  const inTransit = names.open.filter(({ move }) => move !== undefined).length
  return {
    unused: names.unused.length,
    used: names.used.length,
    held: names.open.length - inTransit,
    inTransit,
    coming: names.coming.length,
    unanswered: names.requests.reduce((sum, { count }) => sum + count, 0),
    aside: names.aside.length,
    notProfiles: oddNames(names).length,
  }
}

/** What a call that holds a profile has written about itself; undefined if it is gone by now. */
export function claimOf(directory: string, held: Held): Used | undefined {
  const { draft, decision } = placesOf(directory, held)
  const texts = [draft, decision].map((path) => readUsed(directory, basename(path)))
  return texts.find((used) => typeof used !== 'string')
}

/** Says of all that is neither unused nor plainly used what it is, and what helps. */
export function warnOfNames(directory: string, names: Names, messages: Messages): void {
  const held = names.open.filter(({ move }) => move === undefined)
  if (held.length > 0) {
    const since = held.flatMap((each) => claimOf(directory, each)?.claimed ?? []).sort()[0] ?? 'now'
    const what = `${several(held.length, 'profile')} held by calls since ${since}`
    messages.warn(`${what}: if these were killed, a call that needs the profiles frees them`)
  }
  const moves = names.open.flatMap(({ move }) => move ?? [])
  for (const [to, { length }] of Map.groupBy(moves, (move) => targetOf(directory, move)))
    messages.warn(`${several(length, 'profile')} in transit to ${to}: run the same softsim move again`)
  for (const [from, { length }] of Map.groupBy(names.coming, (each) => each.from)) {
    const what = from === FETCH ? 'the next softsim fetch stores them' : 'run the same softsim move again'
    messages.warn(`${several(length, 'profile')} to come from ${from}: ${what}`)
  }
  for (const { count, station, time } of names.requests) {
    const what = `a fetch of ${several(count, 'profile')} (${station}, ${time}) has no answer`
    messages.warn(`${what}: if it was killed, they may be paid for and lost; ask the service provider`)
  }
  const aside = names.aside.map(
    (name) => `${name} is put aside: by a receipt, it has left ${directory}; see softsim help restore`,
  )
  warnOfEach(messages, aside, 'profiles are put aside')
  warnOfNotPrinted(directory, names.held, messages)
  const odd = oddNames(names)
  const some = odd.slice(0, MOST_NAMED).join(', ')
  if (odd.length > 0) messages.warn(`${several(odd.length, 'file')} named unlike profiles, such as ${some}`)
}

/** Names that end as that of a profile and are none. */
export const oddNames = ({ others }: Pick<Listing, 'others'>): string[] =>
  others.filter((name) => /^[^.].*\.json$/is.test(name) && !name.startsWith('profiles')).sort()

/** Where a move goes, as it is noted for a person. */
export const targetOf = (directory: string, move: string) =>
  outgoingIn(directory).find(({ id }) => id === move)?.to ?? 'an unknown directory'

/** A call was killed after its claim, and perhaps before it printed: the name that held the profile is still there. */
export function warnOfNotPrinted(directory: string, held: readonly Held[], messages: Messages): void {
  const warnings = held.flatMap((each) => perhapsNotPrinted(directory, each) ?? [])
  warnOfEach(messages, warnings.sort(), 'profiles are perhaps not printed')
}
