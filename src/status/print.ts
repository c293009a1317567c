import type { Identity } from '../store/identity.ts'
import { printable } from '../words.ts'
import type { Checked } from './check.ts'
import type { Counts } from './count.ts'

/** Of `json` and `csv`. A later format may have more fields; one in which a field means something else has a higher number. */
const VERSION = 1

type Row<F extends string> = { readonly [Name in F]: string | null }

/** What was counted in a directory, and what was found when its unused profiles were opened; null in place of the total of all. */
export interface Summary {
  readonly directory: string | null
  readonly counts: Counts
  readonly checked: Checked | undefined
  /** Of the total: null. */
  readonly identity: Identity | null
}

interface Printer {
  /** Ends with a newline. */
  status(summaries: readonly Summary[]): string
  /** Whole lines, each with its newline: these fields of each record, in this order. Null is what is not known. */
  list<F extends string>(fields: readonly F[], records: readonly Row<F>[]): Iterable<string>
}

/** The fields of `json` and `csv`, in this order: newer ones come last. What was not checked is null or empty. */
const fieldsOf = ({ directory, counts, checked, identity }: Summary) => ({
  directory,
  unused: counts.unused,
  used: counts.used,
  unfinished: counts.unfinished,
  notProfiles: counts.notProfiles,
  received: counts.received,
  checked: checked?.checked ?? null,
  usable: checked?.usable ?? null,
  damaged: checked?.faults.damaged ?? null,
  locked: checked?.faults.locked ?? null,
  unfit: checked?.faults.unfit ?? null,
  held: checked?.faults.held ?? null,
  moved: counts.moved,
  inTransit: counts.inTransit,
  unreadable: checked?.faults.unreadable ?? null,
  identity,
  unanswered: counts.unanswered,
  version: VERSION,
})

/** The rows of `text`, in this order. */
const ROWS = [
  'identity' as const,
  ...([
    'unused',
    'used',
    'unfinished',
    'moved',
    'inTransit',
    'notProfiles',
    'received',
    'unanswered',
  ] as const),
  ...(['checked', 'usable', 'damaged', 'unreadable', 'locked', 'unfit', 'held'] as const),
]

/** `notProfiles` becomes "not profiles". */
const inWords = (field: string) => field.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

const text: Printer = {
  status(summaries) {
    const blocks = summaries.map((summary) => {
      const fields = fieldsOf(summary)
      const isPlain = !['copy', 'carried'].includes(summary.identity ?? '')
      // Only the unused ones are worth a line if there are none.
      const rows = ROWS.filter((row) => (row === 'identity' ? !isPlain : row === 'unused' || fields[row]))
      const lines = rows.map((row) => `  ${inWords(row).padEnd(13)} ${String(fields[row]).padStart(9)}\n`)
      return `${printable(summary.directory ?? 'total')}\n${lines.join('')}`
    })
    return blocks.join('')
  },
  *list(all, records) {
    const isAny = (field: (typeof all)[number]) => records.some((record) => record[field])
    const fields = records.length === 0 ? all : all.filter(isAny)
    const titles = fields.map(inWords)
    const widths = fields.map((field) =>
      records.reduce(
        (width, record) => Math.max(width, printable(record[field] ?? '').length),
        inWords(field).length,
      ),
    )
    const row = (cells: readonly string[]) =>
      `${cells
        .map((each, at) => each.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd()}\n`
    yield row(titles)
    for (const record of records) yield row(fields.map((field) => printable(record[field] ?? '')))
  },
}

const json: Printer = {
  status: (summaries) => summaries.map((each) => `${JSON.stringify(fieldsOf(each))}\n`).join(''),
  *list(fields, records) {
    for (const record of records) {
      const values = fields.map((field) => [field, record[field]])
      yield `${JSON.stringify({ ...Object.fromEntries(values), version: VERSION })}\n`
    }
  },
}

/** RFC 4180, with a header line. */
const csv: Printer = {
  status(summaries) {
    const rows = summaries.map(fieldsOf)
    const header = line(Object.keys(rows[0] ?? {}))
    return header + rows.map((row) => line(Object.values(row).map((value) => value ?? ''))).join('')
  },
  *list(fields, records) {
    yield line([...fields, 'version'])
    for (const record of records) yield line([...fields.map((field) => record[field] ?? ''), VERSION])
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

/**
 * Prints these fields of each record.
 * @param directories those that were asked for: as text, only one needs no column
 */
export async function printList<F extends string>(
  { format, print }: Output,
  fields: readonly F[],
  records: readonly Row<F>[],
  directories: readonly string[] = [],
): Promise<void> {
  const isPlain = format === 'text' && directories.length === 1
  const shown = isPlain ? fields.filter((field) => field !== 'directory') : fields
  for (const lines of chunks(PRINTERS[format].list(shown, records))) await print(lines)
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
