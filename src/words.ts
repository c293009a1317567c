/** The number of `-v` options from which a message is shown. */
export type Level = 0 | 1 | 2 | 3

/** What a call says to a person. A text also says what to do, if there is something to do. */
export interface Messages {
  warn(text: string): void
  /** Prints a message from a verbosity on: 0 always, 1 each step, 2 each request and file, 3 everything. */
  tell(level: Level, text: string): void
}

/** What a person sees of a long call. */
export interface Progress {
  /** @param line what to show from now on, whenever it is asked */
  follow(line: () => string): void
  end(): void
}

export const several = (count: number, thing: string) => `${count} ${thing}${count === 1 ? '' : 's'}`

/** Rounded up, in the unit that a person would use. */
export function durationOf(ms: number): string {
  const seconds = Math.ceil(ms / 1000)
  if (seconds < 100) return `${seconds} s`
  const minutes = Math.ceil(seconds / 60)
  return minutes < 100 ? `${minutes} min` : `${Math.ceil(minutes / 60)} h`
}

/** The text on one line, with nothing in it that a terminal would obey. */
export function printable(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to escape
    /[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u{${character.charCodeAt(0).toString(16)}}`,
  )
}
