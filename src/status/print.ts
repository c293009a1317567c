import { printable } from '../words.ts'
import type { Checked } from './check.ts'
import type { Counts } from './count.ts'

type Row<F extends string> = { readonly [Name in F]: string | null }

interface Printer {
  /** Ends with a newline. */
  status(directory: string, counts: Counts, checked: Checked | undefined): string
  /** Whole lines, each with its newline: these fields of each record, in this order. Null is what is not known. */
  list<F extends string>(fields: readonly F[], records: readonly Row<F>[]): Iterable<string>
}

/** The fields of `json` and `csv`, in this order. What was not checked is null or empty. */
const fieldsOf = (
  { unused, used, unfinished, moved, inTransit, notProfiles, received }: Counts,
  checked: Checked | undefined,
) => ({
  unused,
  used,
  unfinished,
  notProfiles,
  received,
  checked: checked?.checked ?? null,
  usable: checked?.usable ?? null,
  damaged: checked?.faults.damaged ?? null,
  locked: checked?.faults.locked ?? null,
  unfit: checked?.faults.unfit ?? null,
  held: checked?.faults.held ?? null,
  moved,
  inTransit,
  unreadable: checked?.faults.unreadable ?? null,
})

const text: Printer = {
  status(directory, counts, checked) {
    const rows: [string, number][] = [
      ['unused', counts.unused],
      ['used', counts.used],
      ['of these, not finished', counts.unfinished],
      ['of these, moved', counts.moved],
      ['of these, in transit', counts.inTransit],
      ['not profiles', counts.notProfiles],
      ['received, not stored yet', counts.received],
    ]
    if (checked !== undefined) {
      rows.push(['checked with the key', checked.checked], ['usable', checked.usable])
      const { damaged, unreadable, locked, unfit, held } = checked.faults
      rows.push(['damaged', damaged], ['unreadable', unreadable], ['not decrypted by the key', locked])
      rows.push(['rejected by a device', unfit], ['open in another program', held])
    }
    return `${printable(directory)}\n${rows.map(([name, count]) => `  ${name.padEnd(24)} ${String(count).padStart(9)}\n`).join('')}`
  },
  *list(fields, records) {
    const widths = fields.map((field) =>
      records.reduce((width, record) => Math.max(width, printable(record[field] ?? '').length), field.length),
    )
    const row = (cells: readonly string[]) =>
      `${cells
        .map((each, at) => each.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd()}\n`
    yield row(fields)
    for (const record of records) yield row(fields.map((field) => printable(record[field] ?? '')))
  },
}

const json: Printer = {
  status: (directory, counts, checked) => `${JSON.stringify({ directory, ...fieldsOf(counts, checked) })}\n`,
  *list(fields, records) {
    for (const record of records)
      yield `${JSON.stringify(Object.fromEntries(fields.map((field) => [field, record[field]])))}\n`
  },
}

/** RFC 4180, with a header line. */
const csv: Printer = {
  status(directory, counts, checked) {
    const fields = { directory, ...fieldsOf(counts, checked) }
    return line(Object.keys(fields)) + line(Object.values(fields).map((value) => value ?? ''))
  },
  *list(fields, records) {
    yield line(fields)
    for (const record of records) yield line(fields.map((field) => record[field] ?? ''))
  },
}

const line = (cells: readonly (string | number)[]) => `${cells.map(cell).join(',')}\r\n`

function cell(value: string | number): string {
  const text = defused(printable(String(value)))
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** A spreadsheet takes a text that begins like this for a formula, which can run a program, unless an apostrophe precedes it. */
const defused = (text: string) => (/^[=+\-@]/.test(text) ? `'${text}` : text)

export const PRINTERS = { text, json, csv }

export type Format = keyof typeof PRINTERS

/** Where a table goes to. */
export interface Output {
  readonly format: Format
  readonly print: (text: string) => Promise<void>
}

/** Prints these fields of each record. */
export async function printList<F extends string>(
  { format, print }: Output,
  fields: readonly F[],
  records: readonly Row<F>[],
): Promise<void> {
  for (const lines of chunks(PRINTERS[format].list(fields, records))) await print(lines)
}

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
