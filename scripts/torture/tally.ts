/** What was done and what was found. */

/** Something that must never happen did; what there is to see is left where it is. */
export class Violation extends Error {}

export class Tally {
  readonly #counts = new Map<string, number>()
  readonly #began = performance.now()
  #shownAt = 0

  /** Counts something under its name. */
  add(what: string, count = 1): void {
    this.#counts.set(what, this.of(what) + count)
  }

  of(what: string): number {
    return this.#counts.get(what) ?? 0
  }

  /** One line, now and then. */
  show(doing: string): void {
    const now = performance.now()
    if (now - this.#shownAt < 30_000) return
    this.#shownAt = now
    const counts = [...this.#counts].map(([what, count]) => `${count} ${what}`)
    console.error(`${Math.round((now - this.#began) / 1000)} s, ${doing}: ${counts.join(', ')}`)
  }

  /** All counts, one a line. */
  table(): string {
    return [...this.#counts].map(([what, count]) => `${String(count).padStart(9)}  ${what}`).join('\n')
  }
}
