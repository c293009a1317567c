import type { Messages } from '../words.ts'

const MOST_WARNINGS = 20

/**
 * Warns of the first things of a list.
 * @param more what is said of the others
 */
export function warnOfEach<T>(
  messages: Messages,
  things: readonly T[],
  words: (thing: T) => string,
  more: (others: number) => string,
): void {
  for (const thing of things.slice(0, MOST_WARNINGS)) messages.warn(words(thing))
  const others = things.length - MOST_WARNINGS
  if (others > 0) messages.warn(more(others))
}
