/**
 * The hint: a hidden file that lists the unused profiles and has a place in the list, so that a call need not read
 * the whole directory. Only the names of files are the truth. The hint may be deleted, torn, outdated or written by
 * two stations at once at any time: the worst that comes of it is one look at the directory.
 */
import {
  chmodSync,
  closeSync,
  constants,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { iccidDigits } from '../profile/iccid.ts'
import { fileRights, rightsOf } from './rights.ts'

const HINT = '.unused'

/** Lines of one length, padded with blanks: what it is, how many profiles, the place in the list, the profiles. */
const LINE = 24
const MAGIC = 'softsim unused 1'
const PLACE_LINE = 2
const LIST_LINE = 3

const line = (text: string | number) => `${String(text).padEnd(LINE - 1)}\n`

export class Hint {
  readonly #file: number
  readonly #size: number
  /** What this call has set aside for itself: from one place to another. */
  #reserved: { from: number; to: number } | undefined

  private constructor(file: number, size: number) {
    this.#file = file
    this.#size = size
  }

  /** The hint of a directory; undefined where there is none that can be used. */
  static open(directory: string): Hint | undefined {
    try {
      const file = openSync(join(directory, HINT), constants.O_RDWR | (constants.O_NOFOLLOW ?? 0))
      const [magic, size] = readLines(file, 0, 2)
      if (magic === MAGIC && isNumber(size)) return new Hint(file, Number(size))
      closeSync(file)
    } catch {}
    return undefined
  }

  /** Writes a new hint, where that can be done. */
  static write(directory: string, iccids: readonly string[]): boolean {
    const temporary = join(directory, `${HINT}~${process.pid}`)
    try {
      const text = [MAGIC, iccids.length, 0, ...iccids].map(line).join('')
      writeFileSync(temporary, text, { flag: 'wx', mode: 0o600 })
      // Not left to the umask: stations of other users share it.
      chmodSync(temporary, fileRights(rightsOf(directory)))
      renameSync(temporary, join(directory, HINT))
      return true
    } catch {
      try {
        rmSync(temporary, { force: true })
      } catch {}
      return false
    }
  }

  /** Removes the hint of a directory to which profiles were added: the next call looks at all of it. */
  static drop(directory: string): void {
    try {
      rmSync(join(directory, HINT), { force: true })
    } catch {}
  }

  /**
   * The next `count` ICCIDs, fewer at the end of the list. They are set aside for this call at once, before any of
   * the profiles is decrypted: other stations go on behind them.
   * @returns undefined where that can't be noted
   */
  reserve(count: number): string[] | undefined {
    const from = this.#place
    const to = Math.min(from + count, this.#size)
    if (from >= to) return []
    if (!this.#move(to)) return undefined
    this.#reserved = { from: this.#reserved?.from ?? from, to }
    return readLines(this.#file, LIST_LINE + from, to - from).filter(
      (text) => iccidDigits(text) !== undefined,
    )
  }

  /** Gives back what was reserved, unless another call has gone on behind it. */
  giveBack(): void {
    if (this.#reserved !== undefined && this.#place === this.#reserved.to) this.#move(this.#reserved.from)
  }

  /** How many profiles are left in the list. */
  get left(): number {
    return this.#size - this.#place
  }

  close(): void {
    closeSync(this.#file)
  }

  get #place(): number {
    const [place] = readLines(this.#file, PLACE_LINE, 1)
    return isNumber(place) ? Math.min(Number(place), this.#size) : this.#size
  }

  /** One small write, so that no station reads half of it. */
  #move(place: number): boolean {
    try {
      return writeSync(this.#file, line(place), PLACE_LINE * LINE) === LINE
    } catch {
      return false
    }
  }
}

const isNumber = (text: string | undefined): text is string => text !== undefined && /^\d{1,9}$/.test(text)

/** Whole lines without their blanks; fewer where the file ends, none where it can't be read. */
function readLines(file: number, at: number, count: number): string[] {
  const bytes = Buffer.alloc(count * LINE)
  try {
    const length = readSync(file, bytes, 0, bytes.length, at * LINE)
    const texts = Array.from({ length: Math.floor(length / LINE) }, (_, index) =>
      bytes.toString('latin1', index * LINE, (index + 1) * LINE).trim(),
    )
    return texts
  } catch {
    return []
  }
}
