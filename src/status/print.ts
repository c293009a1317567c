import { type Messages, printable } from '../words.ts'

/** Of `json` and `csv`. A later format may have more fields; one in which a field means something else has a higher number. */
const VERSION = 1

/** By field. In `json`, null is what is not known. */
export type Row = Readonly<Record<string, string | number | null | undefined>>

/** `notProfiles` becomes "not profiles". */
export const inWords = (field: string) => field.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

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
    const values = fields.map((field) => [field, row[field] ?? null])
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

/** Where a table and messages go to. */
export interface Output {
  readonly format: Format
  readonly print: (text: string) => Promise<void>
  readonly messages: Messages
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
