/** In characters. */
const LONGEST = 40
const SHORTEST_STEM = 4

/**
 * Finds what the user probably meant.
 * @returns the known name that is most like the typed one, or begins with it, or is its beginning; undefined if there is none
 */
export function nearest(typed: string, known: Iterable<string>): string | undefined {
  const word = typed.toLowerCase().slice(0, LONGEST)
  const letters = word.replace(/^-+/, '').length
  let best: string | undefined
  let least = letters < 3 ? 0 : letters < 6 ? 1 : 2
  for (const name of known) {
    const isStart = letters > 1 && name.startsWith(word)
    const isStem = name.length >= SHORTEST_STEM && word.startsWith(name)
    const distance = isStart || isStem ? Math.min(1, least) : distanceOf(word, name.toLowerCase())
    if (distance > least || (best !== undefined && distance === least)) continue
    best = name
    least = distance
  }
  return best
}

/** The optimal string alignment distance: characters inserted, deleted or replaced, and neighbours swapped. */
function distanceOf(a: string, b: string): number {
  let [last, now]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, at) => at)]
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(now, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwap ? at(last, j - 2) + 1 : replaced
      next.push(Math.min(at(now, j) + 1, at(next, j - 1) + 1, replaced, swapped))
    }
    last = now
    now = next
  }
  return at(now, b.length)
}

const at = (row: readonly number[], column: number) => row[column] ?? 0
