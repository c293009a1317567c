/**
 * What became of a profile, by its receipts. The clocks of stations differ, so no time decides: moves form a chain, from
 * directory to directory, and a profile that is handed out is moved no more.
 */
import { type Groups, type Receipt, withoutCopies } from './read-receipts.ts'

type Move = Receipt & { readonly move: NonNullable<Receipt['move']> }

/**
 * Who has a profile, one statement for each. Without a serial number, each hand-out that was not a repetition was for
 * another device.
 */
export function holdersIn<S extends Pick<Receipt, 'device' | 'again'> & { readonly move?: Receipt['move'] }>(
  statements: readonly S[],
): S[] {
  const handOuts = statements.filter(({ move }) => move === undefined)
  const ofDevices = Map.groupBy(
    handOuts.filter(({ device }) => device !== null),
    ({ device }) => device,
  )
  const holders = [
    ...[...ofDevices.values()].flatMap((each) => each.find(({ again }) => !again) ?? each[0] ?? []),
    ...handOuts.filter(({ device, again }) => device === null && !again),
  ]
  return holders.length > 0 ? holders : handOuts.slice(0, 1)
}

/**
 * The statements about each device that has several ICCIDs.
 * @param byDevice the numbers of all statements that name a device
 */
export function* withSeveralIccids<S extends Partial<Receipt>>(
  byDevice: Groups,
  statementAt: (number: number) => S | undefined,
): Generator<S[]> {
  for (const statements of byDevice.read(statementAt, ({ device }) => device, 2))
    if (new Set(statements.map(({ iccid }) => iccid)).size > 1) yield withoutCopies(statements)
}

/**
 * The receipts that can't be true of a profile that is unused in a directory: it was handed out, or it left this directory.
 * What they leave open counts as a contradiction.
 * @param file the name of its unused file
 * @param arrived the moves into the directory that its own marks name: its path may be another one today
 */
export function deniedBy(
  receipts: readonly Receipt[],
  file: string,
  arrived: ReadonlySet<string>,
): Receipt[] {
  const moves = movesIn(receipts)
  const isMarked = ({ move }: Move) => arrived.has(move.id)
  const places = Map.groupBy(lastMoves(receipts), ({ move }) => move.to)
  const isHere = places.size > 0 && [...places.values()].every((into) => into.some(isMarked))
  // A profile that comes back to a directory gets the next number there: it left under another one.
  const left = moves.filter((each) => !isMarked(each) && numberOf(each.file) === numberOf(file))
  // If it is here, it left the other places before that. But what has left this path may have left the directory at hand,
  // from a backup, and come to another one, which has the path today.
  const denying = isHere ? left.filter(({ directory }) => places.has(directory)) : left
  return [...receipts.filter(({ move }) => move === undefined), ...denying]
}

/**
 * The moves to the directories that no later move left: several if the receipts do not tell which one was the last. Where
 * the chain is closed, any of them can be.
 * @param receipts of one profile, in any order
 */
export function lastMoves(receipts: readonly Receipt[]): readonly Move[] {
  const moves = movesIn(receipts)
  const balance = balanceOf(moves.map(({ directory, move }) => [directory, move.to]))
  const last = moves.filter(({ move }) => (balance.get(move.to) ?? 0) > 0)
  return last.length > 0 ? last : moves
}

/** How much more often each place was reached than left. */
function balanceOf(ways: readonly (readonly [from: string, to: string])[]): Map<string, number> {
  const balance = new Map<string, number>()
  const add = (place: string, number: number) => balance.set(place, (balance.get(place) ?? 0) + number)
  for (const [from, to] of ways) {
    add(from, -1)
    add(to, 1)
  }
  return balance
}

/** A directory as its backup knows it. */
export interface Backup {
  readonly path: string | undefined
  readonly id: string | undefined
  /** As for `deniedBy`. */
  readonly arrived: ReadonlySet<string>
}

/**
 * Where a profile is that was in a directory when its backup was made, or had left it.
 * @param name of its unused file then
 * @returns `unclear` if the receipts do not tell, as one of them is missing or names directories by their paths only
 */
export function whereIs(
  receipts: readonly Receipt[],
  { path, id, arrived }: Backup,
  name: string,
  hadLeft: boolean,
): 'here' | 'away' | 'unclear' {
  const moves = movesIn(receipts)
  const ways = moves.flatMap(({ move: { fromId, toId } }) =>
    fromId && toId ? [[fromId, toId] as const] : [],
  )
  if (id === undefined || ways.length < moves.length || !ways.flat().includes(id)) return 'unclear'
  const balance = balanceOf(ways)
  const elsewhere = moves.filter(({ move: { toId = '' } }) => toId !== id && (balance.get(toId) ?? 0) > 0)
  // Somebody may have deleted the file with the id meanwhile.
  if (elsewhere.length > 0) return elsewhere.some(({ move }) => move.to === path) ? 'unclear' : 'away'
  const came = moves.filter(({ move }) => move.toId === id && !arrived.has(move.id)).length
  const next = numberOf(name) + (hadLeft ? 1 : 0)
  const numbers = moves.filter(({ move }) => move.fromId === id).map(({ file }) => numberOf(file))
  const left = numbers.filter((number) => number >= next).sort((a, b) => a - b)
  if (left.some((number, at) => number !== next + at)) return 'unclear'
  return came - left.length >= (hadLeft ? 1 : 0) ? 'here' : 'away'
}

/** Each once: a call that finishes a move may write its receipts again, and see the directory at another path. */
export function movesIn(receipts: readonly Receipt[]): Move[] {
  const moves = receipts.filter((each): each is Move => each.move !== undefined)
  const keyOf = ({ directory, move: { id, to } }: Move) => id || JSON.stringify([directory, to])
  return [...new Map(moves.map((each) => [keyOf(each), each])).values()]
}

/** How often a profile came to a directory, by the name of its file there: `<iccid>.2.json` is the second time. */
export const numberOf = (file: string) => Number(/\.(\d+)\.json$/.exec(file)?.[1] ?? 1)
