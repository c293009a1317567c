/** Reads files of receipts, however long: what stays in memory is where each line is. */
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs'
import { Failure, reasonOf } from '../../failure.ts'
import { several } from '../../words.ts'
import { Groups } from './groups.ts'
import { isBegun, parseReceipt, type Receipt, withoutCopies } from './line.ts'

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
  readonly #sources: Source[] = []
  readonly #byIccid = new Groups()
  /** Where each line begins. */
  #offsets = new Float64Array(1024)
  #count = 0

  /**
   * @param each receives each receipt, and the number of its line
   * @throws {Failure} `disk` if a file can't be read, `usage` if it has no receipts
   */
  static async read(
    paths: readonly string[],
    each: (receipt: Receipt, line: number) => void = () => {},
  ): Promise<Receipts> {
    const receipts = new Receipts()
    try {
      for (const path of new Set(paths)) await receipts.#add(path, each)
      return receipts
    } catch (error) {
      receipts.close()
      throw error
    }
  }

  /** How many lines all files have. */
  get length(): number {
    return this.#count
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
    for (const lines of this.#byIccid) {
      const same = Map.groupBy(
        lines.map((line) => this.at(line)),
        ({ iccid }) => iccid,
      )
      for (const receipts of same.values()) yield withoutCopies(receipts)
    }
  }

  close(): void {
    for (const { file } of this.#sources.splice(0)) if (file !== undefined) closeSync(file)
  }

  async #add(path: string, each: (receipt: Receipt, line: number) => void): Promise<void> {
    const source = reading(path, () => open(path, this.#count, this.#sources.length < MOST_OPEN))
    this.#sources.push(source)
    let from = 0
    let begunWith = ''
    let isAny = false
    for (const line of linesOf(source)) {
      const number = this.#note(from)
      from += line.length
      const text = line.toString(source.encoding).trim()
      begunWith ||= text
      if (text === '') continue
      const receipt = parseReceipt(text, '')
      if (receipt === undefined) this.torn.push(number)
      else {
        isAny = true
        this.#byIccid.add(receipt.iccid, number)
        each(receipt, number)
      }
      // Progress is only seen when nothing else is to be done.
      if (number % 4096 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    // Where the last line ends.
    this.#note(from)
    if (!isAny && begunWith !== '' && !isBegun(begunWith))
      throw new Failure('not-receipts', `${path} is not a file of receipts`)
  }

  /** @returns the number of the line */
  #note(offset: number): number {
    if (this.#count === this.#offsets.length)
      this.#offsets = new Float64Array(this.#offsets.buffer.transfer(2 * this.#offsets.byteLength))
    this.#offsets[this.#count] = offset
    return this.#count++
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

/** Each line with its end. */
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
      yield bytes.subarray(at, next)
      at = next
    }
    rest = bytes.subarray(at)
    if (rest.length > CHUNK) throw new Failure('not-receipts', `${source.path} is not a file of receipts`)
    if (chunk.length === 0) break
  }
  if (rest.length > 0) yield rest
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
 * Reads files of receipts, and follows how many.
 * @returns also the numbers of the receipts of each device
 * @throws as `Receipts.read`
 */
export async function readByDevice(
  files: readonly string[],
  progress: { follow(line: () => string): void },
): Promise<{ receipts: Receipts; byDevice: Groups }> {
  const byDevice = new Groups()
  let read = 0
  progress.follow(() => `${several(read, 'receipt')} read`)
  const receipts = await Receipts.read(files, ({ device }, line) => {
    read++
    if (device !== null) byDevice.add(device, line)
  })
  return { receipts, byDevice }
}
