/**
 * What became of a profile, by its receipts. The clocks of stations differ, so no time decides: moves form a chain, from
 * directory to directory, and a profile that is handed out is moved no more.
 */
import type { Stored } from '../claim.ts'
import { moveTo } from '../profile-file.ts'
import { type Groups, type Receipt, withoutCopies } from './read-receipts.ts'

type Move = Receipt & { readonly move: NonNullable<Receipt['move']> }

/**
 * Who has a profile, one statement for each. Without a serial number, each hand-out that was not a repetition was for
 * another device.
 */
export function holdersIn<
  S extends Pick<Receipt, 'device' | 'again' | 'file'> & Partial<Pick<Receipt, 'directory' | 'move'>>,
>(statements: readonly S[]): S[] {
  const all = statements.filter(({ move }) => move === undefined)
  const handOuts = all.filter((each) => !all.some((other) => isInsteadOf(other, each)))
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

/** A profile that no device is known to have got can be given to one, under its next number. */
const isInsteadOf = (
  one: Pick<Receipt, 'device' | 'file'> & Partial<Receipt>,
  other: Pick<Receipt, 'device' | 'file'> & Partial<Receipt>,
) =>
  one.device !== null &&
  other.device === null &&
  (one.directory ?? other.directory) === other.directory &&
  numberOf(one.file) > numberOf(other.file)

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
 * @param unused its unused file
 * @param arrived the moves into the directory that its own marks name: its path may be another one today
 */
export function deniedBy(
  receipts: readonly Receipt[],
  { name: file, stored }: Stored,
  arrived: ReadonlySet<string>,
): Receipt[] {
  const moves = movesIn(receipts)
  const isMarked = ({ move }: Move) => arrived.has(move.id) || move.id === moveTo(stored)
  const places = Map.groupBy(lastMoves(receipts), ({ move }) => move.to)
  const isHere = places.size > 0 && [...places.values()].every((into) => into.some(isMarked))
  // A profile that comes back to a directory gets the next number there. What left under a lower one has come back; what
  // left under a higher one may have come back without a receipt, as after a move that was taken back.
  const left = moves.filter((each) => !isMarked(each) && numberOf(each.file) >= numberOf(file))
  // If it is here, it left the other places before that. But what has left this path may have left the directory at hand,
  // from a backup, and come to another one, which has the path today.
  const isAfterThat = (each: Move) => places.has(each.directory) && numberOf(each.file) === numberOf(file)
  const denying = isHere ? left.filter(isAfterThat) : left
  return [...receipts.filter(({ move }) => move === undefined), ...denying]
}

/**
 * The moves to the directories that no later move left: several if the receipts do not tell which one was the last. Where
 * the chain is closed, any of them can be.
 * @param receipts of one profile, in any order
 */
export function lastMoves(receipts: readonly Receipt[]): readonly Move[] {
  const moves = movesIn(receipts)
  const balance = new Map<string, number>()
  const add = (directory: string, number: number) =>
    balance.set(directory, (balance.get(directory) ?? 0) + number)
  for (const { directory, move } of moves) {
    add(move.to, 1)
    add(directory, -1)
  }
  const last = moves.filter(({ move }) => (balance.get(move.to) ?? 0) > 0)
  return last.length > 0 ? last : moves
}

/** Whether a profile is not any more where a move brought it. */
export const hasLeft = (receipts: readonly Receipt[], id: string | undefined): boolean =>
  !lastMoves(receipts).some(({ move }) => move.id === id)

/** Each once: a call that finishes a move may write its receipts again, and see the directory at another path. */
export function movesIn(receipts: readonly Receipt[]): Move[] {
  const moves = receipts.filter((each): each is Move => each.move !== undefined)
  const keyOf = ({ directory, move: { id, to } }: Move) => id || JSON.stringify([directory, to])
  return [...new Map(moves.map((each) => [keyOf(each), each])).values()]
}

/** How often a profile came to a directory, by the name of its file there: `<iccid>.2.json` is the second time. */
export const numberOf = (file: string) => Number(/\.(\d+)\.json$/.exec(file)?.[1] ?? 1)
