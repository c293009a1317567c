import type { Messages } from '../words.ts'

const MOST_WARNINGS = 20

interface Words<T> {
  words(thing: T): string
  /** What is said of the others. */
  more(others: number): string
  readonly kind?: Parameters<Messages['warn']>[1]
}

/** Warns of the first things of a list. */
export function warnOfEach<T>(
  messages: Messages,
  things: readonly T[],
  { words, more, kind }: Words<T>,
): void {
  for (const thing of things.slice(0, MOST_WARNINGS)) messages.warn(words(thing), kind)
  const others = things.length - MOST_WARNINGS
  if (others > 0) messages.warn(more(others))
}
