/** Tables, CSV and JSON. */
import { type Messages, printable } from '../words.ts'

/** It rises when a field of `json` changes its meaning, not when one is added. */
const VERSION = 1

const MOST_NAMED = 20

/** By field. Null is what is not known. */
export type Row = Readonly<Record<string, string | number | null | undefined>>

/** Where a table and messages go to. */
export interface Output {
  readonly format: Format
  readonly print: (text: string) => Promise<void>
  readonly messages: Messages
}

/** `inTransit` becomes "in transit". */
export const inWords = (field: string) => field.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

/** The lines of a table: these fields of each row, in this order. */
type Table = (fields: readonly string[], rows: readonly Row[]) => string

/** Columns, without those that are empty in each row. */
const text: Table = (all, rows) => {
  const fields = rows.length === 0 ? all : all.filter((field) => rows.some((row) => row[field]))
  const cells = rows.map((row) => fields.map((field) => printable(String(row[field] ?? ''))))
  const lines = [fields.map(inWords), ...cells]
  const widths = fields.map((_, at) => lines.reduce((most, line) => Math.max(most, line[at]?.length ?? 0), 0))
  const lineOf = (line: readonly string[]) => line.map((each, at) => each.padEnd(widths[at] ?? 0)).join('  ')
  return lines.map((line) => `${lineOf(line).trimEnd()}\n`).join('')
}

/** An object a line. */
const json: Table = (fields, rows) =>
  rows
    .map((row) => Object.fromEntries(fields.map((field) => [field, row[field] ?? null])))
    .map((values) => `${JSON.stringify({ ...values, version: VERSION })}\n`)
    .join('')

/** RFC 4180, with a header line. */
const csv: Table = (fields, rows) =>
  [fields, ...rows.map((row) => fields.map((field) => csvField(row[field] ?? '')))]
    .map((line) => `${line.join(',')}\r\n`)
    .join('')

/** A spreadsheet takes a text that begins with one of `= + - @` for a formula, unless an apostrophe precedes it. */
function csvField(value: string | number): string {
  const plain = printable(String(value)).replace(/^(?=[=+\-@])/, "'")
  return /[",]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}

export const TABLES = { text, json, csv }

export type Format = keyof typeof TABLES

/**
 * Warns of the first things of a list, and names the others with `-v` only.
 * @param what the things, in the plural
 */
export function warnOfEach(messages: Messages, warnings: readonly string[], what: string): void {
  for (const warning of warnings.slice(0, MOST_NAMED)) messages.warn(warning)
  const others = warnings.slice(MOST_NAMED)
  if (others.length > 0) messages.warn(`${others.length} more ${what}; -v names them`)
  for (const each of others) messages.tell(1, each)
}
