import type { Identity } from '../store/identity.ts'
import { printable } from '../words.ts'
import type { Checked } from './check-profiles.ts'
import type { Counts } from './count.ts'

/** Of `json` and `csv`. A later format may have more fields; one in which a field means something else has a higher number. */
const VERSION = 1

/** What was counted in a directory, and what was found when its unused profiles were opened; null in place of the total of all. */
export interface Summary {
  readonly directory: string | null
  readonly counts: Counts
  readonly checked: Checked | undefined
  /** Of the total: null. */
  readonly identity: Identity | null
}

/** By field. Null is what is not known. */
type Row = Readonly<Record<string, string | number | null>>

/** The fields of `json` and `csv`, in this order: newer ones come last. */
const FIELDS = [
  ...['directory', 'unused', 'used', 'unfinished', 'notProfiles', 'received', 'checked', 'usable'],
  ...['damaged', 'locked', 'unfit', 'held', 'moved', 'inTransit', 'unreadable', 'identity', 'unanswered'],
]

/** What was not checked is null. */
function fieldsOf({ directory, counts, checked, identity }: Summary): Row {
  const { faults, unread, ...numbers } = checked ?? {}
  const known: Row = { directory, ...counts, ...numbers, ...faults, identity }
  return Object.fromEntries(FIELDS.map((field) => [field, known[field] ?? null]))
}

/** The rows of `text`, in this order. */
const ROWS = [
  ...['unused', 'used', 'unfinished', 'moved', 'inTransit', 'notProfiles', 'received', 'unanswered'],
  ...['checked', 'usable', 'damaged', 'unreadable', 'locked', 'unfit', 'held'],
]

/** What `text` says of a directory that is not itself. */
const COPIES = new Map([
  ['copy', 'a copy, or from a backup: nothing is handed out of it'],
  ['carried', 'a copy of a directory that was not used: use only one of them'],
])

/** `notProfiles` becomes "not profiles". */
const inWords = (field: string) => field.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

/** What `status` prints of its directories, with a newline at its end. */
export function statusIn(format: Format, summaries: readonly Summary[]): string {
  const all = summaries.map(fieldsOf)
  if (format !== 'text') return [...TABLES[format](FIELDS, all)].join('')
  const blocks = all.map((fields) => {
    // Only the unused ones are worth a line if there are none.
    const rows = ROWS.filter((row) => row === 'unused' || fields[row])
    const lines = rows.map((row) => `  ${inWords(row).padEnd(13)} ${String(fields[row]).padStart(9)}\n`)
    const copy = COPIES.get(String(fields['identity']))
    return `${printable(String(fields['directory'] ?? 'total'))}\n${copy ? `  ${copy}\n` : ''}${lines.join('')}`
  })
  return blocks.join('')
}

/** Whole lines, each with its newline: these fields of each row, in this order. */
type Table = (fields: readonly string[], rows: readonly Row[]) => Iterable<string>

/** Without the fields that no row has. */
const text: Table = function* (all, rows) {
  const fields = rows.length === 0 ? all : all.filter((field) => rows.some((row) => row[field]))
  const cellsOf = (row: Row) => fields.map((field) => printable(String(row[field] ?? '')))
  const widths = fields.map((field) => inWords(field).length)
  for (const row of rows)
    for (const [at, { length }] of cellsOf(row).entries()) widths[at] = Math.max(widths[at] ?? 0, length)
  const lineOf = (cells: readonly string[]) => {
    const padded = cells.map((each, at) => each.padEnd(widths[at] ?? 0))
    return `${padded.join('  ').trimEnd()}\n`
  }
  yield lineOf(fields.map(inWords))
  for (const row of rows) yield lineOf(cellsOf(row))
}

const json: Table = function* (fields, rows) {
  for (const row of rows) {
    const values = fields.map((field) => [field, row[field]])
    yield `${JSON.stringify({ ...Object.fromEntries(values), version: VERSION })}\n`
  }
}

/** RFC 4180, with a header line. */
const csv: Table = function* (fields, rows) {
  const lineOf = (cells: readonly (string | number)[]) => `${cells.map(cell).join(',')}\r\n`
  yield lineOf([...fields, 'version'])
  for (const row of rows) yield lineOf([...fields.map((field) => row[field] ?? ''), VERSION])
}

function cell(value: string | number): string {
  const text = defused(printable(String(value)))
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** A spreadsheet takes a text that begins like this for a formula, which can run a program, unless an apostrophe precedes it. */
const defused = (text: string) => (/^[=+\-@]/.test(text) ? `'${text}` : text)

export const TABLES = { text, json, csv }

export type Format = keyof typeof TABLES

/** Where a table goes to. */
export interface Output {
  readonly format: Format
  readonly print: (text: string) => Promise<void>
}

/**
 * Prints these fields of each record.
 * @param directories those that were asked for: as text, only one needs no column
 */
export async function printList<F extends string>(
  { format, print }: Output,
  fields: readonly F[],
  records: readonly { readonly [Name in F]: string | null }[],
  directories: readonly string[] = [],
): Promise<void> {
  const isPlain = format === 'text' && directories.length === 1
  const shown = isPlain ? fields.filter((field) => field !== 'directory') : fields
  for (const lines of chunks(TABLES[format](shown, records))) await print(lines)
}

/** Prints an object of its own. */
export const printJson = ({ print }: Output, fields: object): Promise<void> =>
  print(`${JSON.stringify({ ...fields, version: VERSION })}\n`)

/** Joins lines, so that a long list takes few writes. */
function* chunks(lines: Iterable<string>): Generator<string> {
  let text = ''
  for (const line of lines) {
    text += line
    if (text.length < 64 * 1024) continue
    yield text
    text = ''
  }
  yield text
}
