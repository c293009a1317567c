/**
 * What became of a profile, by its receipts. The clocks of stations differ, and paths lead to other directories elsewhere:
 * neither decides. Moves form a chain, as each says by which move the profile had come, and a profile that is handed out is
 * moved no more.
 */
import type { Stored } from '../claim.ts'
import { earlierNames, parseName, usedName } from '../names.ts'
import { arrivedBy, textOf, tombstoneIn } from '../profile-file.ts'
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
 * The receipts that can't be true of a profile that is unused in a directory: it was handed out, or it was moved after it
 * had come there. What is not known to come before counts as later.
 * @param unused its unused file
 */
export function deniedBy(
  directory: string,
  receipts: readonly Receipt[],
  { name, stored }: Stored,
): Receipt[] {
  const byId = new Map(movesIn(receipts).map(({ move }) => [move.id, move]))
  const before = new Set<string>()
  // How it left this directory when it was here before is known, too, if no receipt tells how it came back.
  const left = earlierNames(name).map((each) => tombstoneIn(textOf(directory, usedName(each)))?.move)
  for (const last of [arrivedBy(stored), ...left])
    for (let id = last; id !== undefined && !before.has(id); id = byId.get(id)?.from) before.add(id)
  return receipts.filter(({ move }) => move === undefined || !before.has(move.id))
}

/**
 * The moves after which the profile was not moved again: several if a receipt is missing.
 * @param receipts of one profile, in any order
 */
export function lastMoves(receipts: readonly Receipt[]): readonly Move[] {
  const moves = movesIn(receipts)
  const left = new Set(moves.map(({ move }) => move.from))
  return moves.filter(({ move }) => !left.has(move.id))
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
export const numberOf = (file: string) => parseName(file)?.number ?? 1
