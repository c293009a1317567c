import { iccidDigits } from '../../profile/iccid.ts'
import { fieldsOf } from '../json-fields.ts'

/** What a receipt says of one profile. */
export interface Receipt {
  /** RFC 3339, by the clock of the station. */
  readonly time: string
  readonly station: string
  /** Null if the call named none. */
  readonly device: string | null
  /** Without a filler. */
  readonly iccid: string
  /** The directory that had the profile, and the name of its used file there. */
  readonly directory: string
  readonly file: string
  /** Whether the profile was handed out before. */
  readonly again: boolean
  /** The move, and the directory that the profile was moved to; undefined if it was handed out. */
  readonly move: { readonly id: string; readonly to: string } | undefined
  /** The file of the receipt and the number of its line, as in `receipt.jsonl:12`. */
  readonly source: string
}

/** What a receipt begins with, also one that is not complete. */
const BEGINNING = '{"time":"'

/** Whether a line is a receipt, or the first part of one. */
export const isBegun = (line: string) => line.startsWith(BEGINNING) || BEGINNING.startsWith(line)

/** @returns undefined if the line is not a complete receipt */
export function parseReceipt(line: string, source: string): Receipt | undefined {
  const { time, station, device, iccid, directory, file, again, to, move } = fieldsOf(line.trim())
  const digits = typeof iccid === 'string' ? iccidDigits(iccid) : undefined
  if (digits === undefined || typeof time !== 'string') return undefined
  return {
    ...{ time, iccid: digits, source, again: again === true },
    ...{ station: textOf(station), directory: textOf(directory), file: textOf(file) },
    device: typeof device === 'string' ? device : null,
    move: to === undefined ? undefined : { id: textOf(move), to: textOf(to) },
  }
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : '')

/** Each once: files may have been copied or joined. */
export function withoutCopies<S extends Partial<Receipt>>(statements: readonly S[]): S[] {
  const kept = new Map(statements.map((each) => [JSON.stringify({ ...each, source: '' }), each] as const))
  return [...kept.values()]
}
