/** Reads files of receipts, however long: what stays in memory is where each line is. */
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Failure, reasonOf } from '../../failure.ts'
import { iccidDigits } from '../../profile/iccid.ts'
import { several } from '../../words.ts'
import { exists } from '../directory-entries.ts'
import { USED } from '../names.ts'
import { attempt } from '../patience.ts'
import { fieldsOf, stringOf } from '../profile-file.ts'

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
  /** Whether the profile was handed out before; of a move, whether an earlier call may have written the receipt. */
  readonly again: boolean
  /** The move, and the directory that the profile was moved to; undefined if it was handed out. */
  readonly move: { readonly id: string; readonly to: string; readonly from: string | undefined } | undefined
  /** The file of the receipt and the number of its line, as in `receipt.jsonl:12`. */
  readonly source: string
}

/** What a receipt begins with, also one that is not complete. */
export const BEGINNING = '{"time":"'

/** Whether a line is a receipt, or the first part of one. */
export const isBegun = (line: string) => line.startsWith(BEGINNING) || BEGINNING.startsWith(line)

/** A power cut may leave zeros where something was about to be written. */
const ZERO = '\0'

/** Whether a power cut or a full disk may have left a line. */
function isTorn(line: string): boolean {
  const text = line.replaceAll(ZERO, '')
  return isBegun(text) && !text.endsWith('}')
}

/** @returns undefined if the line is not a complete receipt */
function parseReceipt(line: string, source: string): Receipt | undefined {
  const text = line.split(ZERO).find((part) => part !== '') ?? ''
  const { time, station, device, iccid, directory, file, again, to, move, from } = fieldsOf(text.trim())
  const digits = typeof iccid === 'string' ? iccidDigits(iccid) : undefined
  if (digits === undefined || typeof time !== 'string') return undefined
  return {
    ...{ time, iccid: digits, source, again: again === true },
    ...{ station: stringOf(station), directory: stringOf(directory), file: stringOf(file) },
    device: typeof device === 'string' ? device : null,
    move:
      to === undefined
        ? undefined
        : { id: stringOf(move), to: stringOf(to), from: stringOf(from) || undefined },
  }
}

/** Each once: files may have been copied or joined. */
export function withoutCopies<S extends Partial<Receipt>>(statements: readonly S[]): S[] {
  const kept = new Map(statements.map((each) => [JSON.stringify({ ...each, source: '' }), each] as const))
  return [...kept.values()]
}

/** In bytes. A line that is longer is no receipt. */
const CHUNK = 1024 * 1024

/** Of the files: systems allow a thousand and fewer. */
const MOST_OPEN = 100

/** Where to read a file again. */
interface Source {
  readonly path: string
  /** Undefined if it is opened for each line. */
  readonly file: number | undefined
  /** What a pipe had, which can be read only once. */
  readonly kept: Buffer | undefined
  /** Windows PowerShell writes UTF-16 when it joins files. */
  readonly encoding: 'utf8' | 'utf16le'
  /** The number of its first line, counted through all files. */
  readonly first: number
}

/** The receipts of any number of files, in any order. Close it. */
export class Receipts {
  /** The numbers of lines that are not complete: a power cut or a full disk leaves the first part of one. */
  readonly torn: number[] = []
  /** The numbers of the receipts of each device. */
  readonly byDevice = new Groups()
  /** The paths of all directories that a receipt names. */
  readonly directories = new Set<string>()
  readonly #sources: Source[] = []
  readonly #byIccid = new Groups()
  /** Where each line begins. */
  readonly #offsets: number[] = []
  #read = 0

  /**
   * @param progress shows how many receipts are read
   * @throws {Failure} `disk` if a file can't be read, `usage` if it has no receipts
   */
  static async read(
    paths: readonly string[],
    progress: { follow(line: () => string): void },
  ): Promise<Receipts> {
    const receipts = new Receipts()
    progress.follow(() => `${several(receipts.#read, 'receipt')} read`)
    try {
      for (const path of new Set(paths)) await receipts.#add(path)
      return receipts
    } catch (error) {
      receipts.close()
      throw error
    }
  }

  /** How many of the lines are receipts. */
  get count(): number {
    return this.#read
  }

  /** How many lines all files have. */
  get length(): number {
    return this.#offsets.length
  }

  /** As in `receipt.jsonl:12`. */
  sourceOf(line: number): string {
    const { path, first } = this.#sourceOf(line)
    return `${path}:${line - first + 1}`
  }

  /** @throws {Failure} `disk`, also if the line has changed since it was read */
  at(line: number): Receipt {
    const source = this.#sourceOf(line)
    const from = this.#offsets[line] ?? 0
    const to = this.#offsets[line + 1] ?? 0
    const bytes = reading(source.path, () => bytesOf(source, from, to))
    const receipt = parseReceipt(bytes.toString(source.encoding), this.sourceOf(line))
    if (receipt === undefined)
      throw new Failure(
        'unread-receipts',
        `can't read the receipts ${source.path}: they have changed meanwhile`,
      )
    return receipt
  }

  /**
   * The receipts of one profile at a time, each once: files may have been copied or joined.
   * @throws {Failure} as `at`
   */
  *profiles(): Generator<Receipt[]> {
    const all = this.#byIccid.read(
      (line) => this.at(line),
      ({ iccid }) => iccid,
    )
    for (const receipts of all) yield withoutCopies(receipts)
  }

  close(): void {
    for (const { file } of this.#sources.splice(0)) if (file !== undefined) closeSync(file)
  }

  async #add(path: string): Promise<void> {
    const source = reading(path, () => open(path, this.length, this.#sources.length < MOST_OPEN))
    this.#sources.push(source)
    let from = 0
    for (const line of linesOf(source)) {
      const number = this.#offsets.push(from) - 1
      from += line.length
      const text = line.toString(source.encoding).trim()
      if (text === '') continue
      const receipt = parseReceipt(text, '')
      if (receipt === undefined) {
        // What nobody can read may be a receipt.
        if (!isTorn(text)) throw new Failure('not-receipts', `${this.sourceOf(number)} is not a receipt`)
        this.torn.push(number)
      } else {
        this.#read++
        this.#byIccid.add(receipt.iccid, number)
        if (receipt.device !== null) this.byDevice.add(receipt.device, number)
        this.directories.add(receipt.directory)
        if (receipt.move !== undefined) this.directories.add(receipt.move.to)
      }
      // Progress is only seen when nothing else is to be done.
      if (number % 4096 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    // Where the last line ends.
    this.#offsets.push(from)
  }

  #sourceOf = (line: number) => this.#sources.findLast(({ first }) => first <= line) as Source
}

function open(path: string, first: number, staysOpen: boolean): Source {
  const kept = statSync(path).isFile() ? undefined : readFileSync(path)
  const file = staysOpen && kept === undefined ? openSync(path, 'r') : undefined
  const [one, other] = bytesOf({ path, file, kept }, 0, 2)
  return { path, file, kept, first, encoding: one === 0xff && other === 0xfe ? 'utf16le' : 'utf8' }
}

function bytesOf({ path, file, kept }: Pick<Source, 'path' | 'file' | 'kept'>, from: number, to: number) {
  if (kept !== undefined) return kept.subarray(from, to)
  const bytes = Buffer.allocUnsafe(to - from)
  const opened = file ?? openSync(path, 'r')
  try {
    return bytes.subarray(0, readSync(opened, bytes, 0, bytes.length, from))
  } finally {
    if (file === undefined) closeSync(opened)
  }
}

/** Each receipt, with the end of its line. */
function* linesOf(source: Source): Generator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  for (let from = 0; ; ) {
    const chunk = reading(source.path, () => bytesOf(source, from, from + CHUNK))
    from += chunk.length
    const bytes = Buffer.concat([rest, chunk])
    let at = 0
    for (;;) {
      const end = bytes.indexOf('\n', at, source.encoding)
      if (end < 0) break
      const next = end + Buffer.byteLength('\n', source.encoding)
      yield* receiptsIn(bytes.subarray(at, next), source)
      at = next
    }
    rest = bytes.subarray(at)
    if (rest.length > CHUNK) throw new Failure('not-receipts', `${source.path} is not a file of receipts`)
    if (chunk.length === 0) break
  }
  if (rest.length > 0) yield* receiptsIn(rest, source)
}

/** Of files that were joined, the last line of the one and the first of the other may be one line. */
function* receiptsIn(line: Buffer, { encoding }: Source): Generator<Buffer> {
  const character = Buffer.byteLength('{', encoding)
  for (let at = 0; at < line.length; ) {
    let next = at
    // A byte order mark may come before the first one.
    do next = line.indexOf(BEGINNING, next + character, encoding)
    while (next > 0 && line.toString(encoding, at, next).trim() === '')
    const end = next < 0 ? line.length : next
    yield line.subarray(at, end)
    at = end
  }
}

/** @throws {Failure} `disk` */
function reading<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new Failure('unread-receipts', `can't read the receipts ${path}: ${reasonOf(error)}`, error)
  }
}

/**
 * What was said of each ICCID or device: where it is read again. A word of 64 bits for each statement, the hash of its key
 * above its number, so that a million take little memory and are sorted at once.
 */
export class Groups {
  #words = new BigUint64Array(1024)
  #count = 0

  /** @param number below 2^32 */
  add(key: string, number: number): void {
    if (this.#count === this.#words.length)
      this.#words = new BigUint64Array(this.#words.buffer.transfer(2 * this.#words.byteLength))
    this.#words[this.#count++] = (BigInt(hashOf(key)) << 32n) | BigInt(number)
  }

  /**
   * The statements with one key at a time, the lowest number first.
   * @param least fewer statements are not read
   */
  *read<S>(
    statementAt: (number: number) => S | undefined,
    keyOf: (statement: S) => string | null | undefined,
    least = 1,
  ): Generator<S[]> {
    const words = this.#words.subarray(0, this.#count).sort()
    for (let from = 0, to = 0; from < words.length; from = to) {
      const hash = hashIn(words[from])
      while (to < words.length && hashIn(words[to]) === hash) to++
      if (to - from < least) continue
      const numbers = Array.from(words.subarray(from, to), (word) => Number(word & 0xffff_ffffn))
      // Two keys may have one hash.
      yield* Map.groupBy(
        numbers.flatMap((number) => statementAt(number) ?? []),
        keyOf,
      ).values()
    }
  }
}

const hashIn = (word = 0n) => word >> 32n

/** FNV-1a. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193)
  return hash >>> 0
}

/**
 * Whether receipts say that a directory has handed out, or moved, a profile that is unused in it.
 * @param path their file. One that is missing, or can't be read, says nothing
 * @param paths those that the directory has or had
 */
export function nameUnused(path: string, directory: string, paths: readonly string[]): boolean {
  const read = () => {
    // A pipe would wait.
    if (!statSync(path).isFile()) return false
    const source = open(path, 0, false)
    for (const line of linesOf(source)) {
      const { directory: from, file } = parseReceipt(line.toString(source.encoding), path) ?? {}
      if (from !== undefined && paths.includes(from) && isUnused(directory, file ?? '')) return true
    }
    return false
  }
  return attempt(read) ?? false
}

const isUnused = (directory: string, used: string) =>
  used.startsWith(USED) && exists(join(directory, used.slice(USED.length)))
