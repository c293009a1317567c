import { readFileSync } from 'node:fs'
import { Failure, reasonOf } from '../../failure.ts'
import { iccidDigits } from '../../profile/iccid.ts'
import { fieldsOf } from '../../store/fields.ts'

/** What `next --receipt` or `move --receipt` has written about one profile. */
export interface Receipt {
  /** RFC 3339. */
  readonly time: string
  readonly station: string
  /** Null if the call named none. */
  readonly device: string | null
  /** Without a filler. */
  readonly iccid: string
  /** Whether the profile was handed out before, or was moved and not handed out. */
  readonly again: boolean
  /** Which move it was, if the profile was moved; empty if the receipt does not say which. */
  readonly move: string | undefined
  /** The file of the receipt and the number of its line, as in `receipt.jsonl:12`. */
  readonly source: string
}

export interface Receipts {
  readonly receipts: readonly Receipt[]
  /** The lines that are not complete: a power cut or a full disk leaves the first part of one. */
  readonly torn: readonly string[]
}

/** What a receipt begins with, also one that is not complete. */
const BEGINNING = '{"time":"'

/** @throws {Failure} `disk` if the file can't be read, `usage` if it has no receipts */
export function readReceipts(path: string): Receipts {
  const receipts: Receipt[] = []
  const torn: string[] = []
  const lines = textOf(path).split('\n')
  for (const [at, line] of lines.entries()) {
    if (line.trim() === '') continue
    const source = `${path}:${at + 1}`
    const receipt = parseReceipt(line, source)
    if (receipt === undefined) torn.push(source)
    else receipts.push(receipt)
  }
  if (receipts.length === 0 && torn.length > 0 && !isBegun(lines[0] ?? '')) {
    throw new Failure('not-receipts', `${path} is not a file of receipts`)
  }
  return { receipts, torn }
}

const isBegun = (line: string) => line.startsWith(BEGINNING) || BEGINNING.startsWith(line)

/** @returns undefined if the line is not a complete receipt */
function parseReceipt(line: string, source: string): Receipt | undefined {
  const { time, station, device, iccid, again, to, move } = fieldsOf(line)
  const digits = typeof iccid === 'string' ? iccidDigits(iccid) : undefined
  if (digits === undefined || typeof time !== 'string') return undefined
  return {
    ...{ time, iccid: digits, source },
    station: typeof station === 'string' ? station : '',
    device: typeof device === 'string' ? device : null,
    again: again === true || to !== undefined,
    move: to === undefined ? undefined : String(move ?? ''),
  }
}

/** Windows PowerShell writes UTF-16 when it joins files, and a byte order mark. */
function textOf(path: string): string {
  try {
    const bytes = readFileSync(path)
    const [first, second] = bytes
    return new TextDecoder(first === 0xff && second === 0xfe ? 'utf-16le' : 'utf-8').decode(bytes)
  } catch (error) {
    throw new Failure('unread-receipts', `can't read the receipts ${path}: ${reasonOf(error)}`, error)
  }
}

/** Each receipt once: files may have been copied or joined. */
export function withoutCopies(receipts: readonly Receipt[]): Receipt[] {
  const kept = new Map<string, Receipt>()
  for (const receipt of receipts) {
    const { source: _, ...words } = receipt
    const identity = JSON.stringify(words)
    if (!kept.has(identity)) kept.set(identity, receipt)
  }
  return [...kept.values()]
}
