/**
 * The free list: a hidden file with a list of unused profiles and a position in it, so that a call need not read the whole
 * directory. Only file names are authoritative. The free list may be deleted, torn, outdated or written by two stations at
 * once. In the worst case, a call reads the directory once.
 */
import {
  chmodSync,
  closeSync,
  constants,
  openSync,
  readSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileRights, removeIfThere, rightsOf, tryToRemove } from './directory-entries.ts'
import { fileName, parseName } from './names.ts'
import { patiently } from './patience.ts'

const HINT = '.unused'

/** Padded with blanks: the magic, the number of profiles, the position in the list, the ICCIDs. */
const LINE = 24
const MAGIC = 'softsim unused 1'
const POSITION_LINE = 2
const LIST_LINE = 3

const CHUNK = 64 * 1024

const line = (text: string | number) => `${String(text).padEnd(LINE - 1)}\n`

export class FreeList {
  readonly #file: number
  readonly #size: number
  #reserved: { from: number; to: number } | undefined

  private constructor(file: number, size: number) {
    this.#file = file
    this.#size = size
  }

  /** @returns undefined if the directory has no usable free list */
  static open(directory: string): FreeList | undefined {
    try {
      const file = openSync(join(directory, HINT), constants.O_RDWR | (constants.O_NOFOLLOW ?? 0))
      const [magic, size] = readLines(file, 0, 2)
      if (magic === MAGIC && isNumber(size)) return new FreeList(file, Number(size))
      closeSync(file)
    } catch {}
    return undefined
  }

  /** @returns false if the free list can't be written */
  static write(directory: string, iccids: Iterable<string> & { readonly length: number }): boolean {
    const temporary = join(directory, `${HINT}~${process.pid}`)
    try {
      const file = openSync(temporary, 'wx', 0o600)
      try {
        for (const lines of chunks([MAGIC, iccids.length, 0], iccids)) writeFileSync(file, lines)
      } finally {
        closeSync(file)
      }
      // Independent of the umask, because stations of other users share the free list.
      chmodSync(temporary, fileRights(rightsOf(directory)))
      patiently(() => renameSync(temporary, join(directory, HINT)))
      return true
    } catch {
      tryToRemove(temporary)
      return false
    }
  }

  /** Removes the free list after profiles were added. The next call then reads the whole directory. */
  static drop(directory: string): void {
    try {
      removeIfThere(join(directory, HINT))
    } catch {}
  }

  /**
   * Reserves the next `count` ICCIDs for this call, or fewer at the end. Other stations continue after them.
   * @returns undefined if the position can't be written
   */
  reserve(count: number): string[] | undefined {
    const from = this.#position
    const to = Math.min(from + count, this.#size)
    if (from >= to) return []
    if (!this.#move(to)) return undefined
    this.#reserved = { from: this.#reserved?.from ?? from, to }
    return readLines(this.#file, LIST_LINE + from, to - from).filter(
      (text) => parseName(fileName(text)) !== undefined,
    )
  }

  /** Returns the reserved ICCIDs, unless another call has already continued after them. */
  giveBack(): void {
    if (this.#reserved !== undefined && this.#position === this.#reserved.to) this.#move(this.#reserved.from)
  }

  get left(): number {
    return this.#size - this.#position
  }

  /** Over NFS, this fails if another station has replaced the free list. Nothing depends on it. */
  close(): void {
    try {
      closeSync(this.#file)
    } catch {}
  }

  get #position(): number {
    const [position] = readLines(this.#file, POSITION_LINE, 1)
    return isNumber(position) ? Math.min(Number(position), this.#size) : this.#size
  }

  /** One small write, so that no station reads half of it. */
  #move(position: number): boolean {
    try {
      return writeSync(this.#file, line(position), POSITION_LINE * LINE) === LINE
    } catch {
      return false
    }
  }
}

/** A million lines in one piece would take too much memory. */
function* chunks(...lists: Iterable<string | number>[]): Generator<string> {
  let text = ''
  for (const list of lists) {
    for (const each of list) {
      text += line(each)
      if (text.length < CHUNK) continue
      yield text
      text = ''
    }
  }
  yield text
}

const isNumber = (text: string | undefined): text is string => text !== undefined && /^\d{1,9}$/.test(text)

function readLines(file: number, at: number, count: number): string[] {
  const bytes = Buffer.alloc(count * LINE)
  try {
    const length = readSync(file, bytes, 0, bytes.length, at * LINE)
    return Array.from({ length: Math.floor(length / LINE) }, (_, index) =>
      bytes.toString('latin1', index * LINE, (index + 1) * LINE).trim(),
    )
  } catch {
    return []
  }
}
