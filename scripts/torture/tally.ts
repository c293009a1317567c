/** What was done and what was found. */

/** Something that must never happen did; what there is to see is left where it is. */
export class Violation extends Error {}

export class Tally {
  readonly #counts = new Map<string, number>()
  readonly #began = performance.now()
  readonly #isTerminal = process.stderr.isTTY === true
  #shownAt = 0

  /** Counts something under its name. */
  add(what: string, count = 1): void {
    this.#counts.set(what, this.of(what) + count)
  }

  /** Says something that a reader of the counts must know. */
  note(text: string): void {
    this.endLine()
    console.log(text)
  }

  of(what: string): number {
    return this.#counts.get(what) ?? 0
  }

  /** One line, over and over where it is a terminal, now and then where it is not. */
  show(doing: string): void {
    const now = performance.now()
    if (now - this.#shownAt < (this.#isTerminal ? 200 : 30_000)) return
    this.#shownAt = now
    const text = `${Math.round((now - this.#began) / 1000)} s, ${doing}: ${this.summary()}`
    process.stderr.write(
      this.#isTerminal ? `\r\x1b[K${text.slice(0, process.stderr.columns - 1)}` : `${text}\n`,
    )
  }

  /** Ends the line that `show` leaves open. */
  endLine(): void {
    if (this.#isTerminal && this.#shownAt > 0) process.stderr.write('\n')
    this.#shownAt = 0
  }

  summary(): string {
    return [...this.#counts].map(([what, count]) => `${count} ${what}`).join(', ')
  }

  /** All counts, one a line. */
  table(): string {
    return [...this.#counts].map(([what, count]) => `${String(count).padStart(9)}  ${what}`).join('\n')
  }
}
