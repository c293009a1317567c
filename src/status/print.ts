import { printable } from '../words.ts'
import type { Checked } from './check.ts'
import type { Counts } from './count.ts'
import type { DeviceRecord } from './devices.ts'

interface Printer {
  /** Ends with a newline. */
  status(directory: string, counts: Counts, checked: Checked | undefined): string
  /** Whole lines, each with its newline. */
  devices(records: readonly DeviceRecord[]): Iterable<string>
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
})

const DEVICE_FIELDS = ['claimed', 'station', 'device', 'iccid'] as const

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
      rows.push(['damaged', checked.faults.damaged], ['not decrypted by the key', checked.faults.locked])
      rows.push(
        ['rejected by a device', checked.faults.unfit],
        ['open in another program', checked.faults.held],
      )
    }
    return `${printable(directory)}\n${rows.map(([name, count]) => `  ${name.padEnd(24)} ${String(count).padStart(9)}\n`).join('')}`
  },
  *devices(records) {
    const widths = DEVICE_FIELDS.map((field) =>
      records.reduce((width, record) => Math.max(width, printable(record[field]).length), field.length),
    )
    const row = (cells: readonly string[]) =>
      `${cells
        .map((each, at) => each.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd()}\n`
    yield row(DEVICE_FIELDS)
    for (const record of records) yield row(DEVICE_FIELDS.map((field) => printable(record[field])))
  },
}

const json: Printer = {
  status: (directory, counts, checked) => `${JSON.stringify({ directory, ...fieldsOf(counts, checked) })}\n`,
  *devices(records) {
    for (const record of records)
      yield `${JSON.stringify(Object.fromEntries(DEVICE_FIELDS.map((field) => [field, record[field]])))}\n`
  },
}

/** RFC 4180, with a header line. */
const csv: Printer = {
  status(directory, counts, checked) {
    const fields = { directory, ...fieldsOf(counts, checked) }
    return line(Object.keys(fields)) + line(Object.values(fields).map((value) => value ?? ''))
  },
  *devices(records) {
    yield line(DEVICE_FIELDS)
    for (const record of records) yield line(DEVICE_FIELDS.map((field) => record[field]))
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
