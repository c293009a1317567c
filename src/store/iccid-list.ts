import { iccidDigits } from '../profile/iccid.ts'

/** For telecommunications (ITU-T E.118). */
const INDUSTRY = '89'

/** Most ICCIDs: then 16 to 18 digits, and perhaps a filler. */
const COMMON = /^89(\d{16,18})([Ff]?)$/
const LEAST_DIGITS = 16
const MOST_DIGITS = 18
const FILLERS = ['', 'F', 'f']

/**
 * A sorted list of ICCIDs, as they are spelled in file names. A common one takes 8 bytes, so that a million fit into
 * little memory: a number of 18 digits, and one more digit for its length and its filler. Others are kept as text. Those
 * that are too short to be common ones, which no device takes, come after them.
 */
export class IccidList implements Iterable<string> {
  #numbers = new BigUint64Array(1024)
  #count = 0
  /** By their digits. */
  #others = new Map<string, string>()
  /** The others that come before the common ones, and those that come after them. */
  #lower: string[] = []
  #higher: string[] = []

  add(iccid: string): void {
    const number = packed(iccid)
    if (number === undefined) {
      const digits = iccidDigits(iccid) ?? iccid
      const other = this.#others.get(digits)
      if (other === undefined || iccid < other) this.#others.set(digits, iccid)
      return
    }
    if (this.#count === this.#numbers.length) {
      const larger = new BigUint64Array(2 * this.#count)
      larger.set(this.#numbers)
      this.#numbers = larger
    }
    this.#numbers[this.#count++] = number
  }

  /** Sorts the list. Of several spellings of one ICCID, the first stays. */
  sort(): this {
    this.#numbers.subarray(0, this.#count).sort()
    this.#keep((number, before) => before === undefined || identity(number) !== identity(before))
    this.#sortOthers()
    return this
  }

  #sortOthers(): void {
    const sorted = [...this.#others.values()].sort()
    const isHigher = sorted.findIndex((iccid) => iccid >= INDUSTRY)
    this.#higher = isHigher < 0 ? [] : sorted.splice(isHigher)
    this.#lower = sorted
  }

  /**
   * Removes ICCIDs, whatever their spellings. Both lists must be sorted.
   * @returns what was removed
   */
  remove(others: IccidList): string[] {
    const removed: string[] = []
    let at = 0
    this.#keep((number) => {
      const own = identity(number)
      while (at < others.#count && identity(others.#numbers[at] ?? 0n) < own) at++
      const isOther = at < others.#count && identity(others.#numbers[at] ?? 0n) === own
      if (isOther) removed.push(unpacked(number))
      return !isOther
    })
    for (const [digits, iccid] of this.#others) {
      if (others.#others.has(digits) && this.#others.delete(digits)) removed.push(iccid)
    }
    this.#sortOthers()
    return removed
  }

  #keep(isKept: (number: bigint, before: bigint | undefined) => boolean): void {
    let kept = 0
    for (let at = 0; at < this.#count; at++) {
      const number = this.#numbers[at] ?? 0n
      if (isKept(number, kept === 0 ? undefined : this.#numbers[kept - 1])) this.#numbers[kept++] = number
    }
    this.#count = kept
  }

  get length(): number {
    return this.#count + this.#others.size
  }

  slice(from: number, to: number): string[] {
    const above = (at: number) => Math.max(0, at - this.#lower.length)
    const among = (at: number) => Math.min(above(at), this.#count)
    const beyond = (at: number) => Math.max(0, above(at) - this.#count)
    return [
      ...this.#lower.slice(from, to),
      ...Array.from(this.#numbers.subarray(among(from), among(to)), unpacked),
      ...this.#higher.slice(beyond(from), beyond(to)),
    ]
  }

  *[Symbol.iterator](): Generator<string> {
    yield* this.#lower
    for (let at = 0; at < this.#count; at++) yield unpacked(this.#numbers[at] ?? 0n)
    yield* this.#higher
  }
}

function packed(iccid: string): bigint | undefined {
  const [, digits, filler = ''] = COMMON.exec(iccid) ?? []
  if (digits === undefined) return undefined
  const spelling = (digits.length - LEAST_DIGITS) * FILLERS.length + FILLERS.indexOf(filler)
  return BigInt(digits.padEnd(MOST_DIGITS, '0') + spelling)
}

function unpacked(number: bigint): string {
  const text = String(number).padStart(MOST_DIGITS + 1, '0')
  const spelling = Number(text.at(-1))
  const length = LEAST_DIGITS + Math.floor(spelling / FILLERS.length)
  return `89${text.slice(0, length)}${FILLERS[spelling % FILLERS.length]}`
}

/** The same for every spelling of one ICCID. */
const identity = (number: bigint) => number - ((number % 10n) % BigInt(FILLERS.length))
