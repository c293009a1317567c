/** What is said to a person, and what of it must not be shown. */

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

/** Bounded here and below, because a long run of one character must not take quadratic time. */
const BACKSLASHES = String.raw`(?:\\u005c|\\|%(?:25){0,4}5c){0,8}`
const PERCENT = '(?:%|u0025)(?:25){0,4}'
const AMPERSAND = `(?:&|u0026|${PERCENT}26)(?:amp;){0,4}`

/**
 * Returns a function that replaces each occurrence of the secret by `***`: as it is, in JSON (RFC 8259 7), in a URL (RFC
 * 3986 2.1), as a character reference of HTML, or in any mixture of these, also escaped several times.
 * @param secret printable ASCII
 */
export function hiding(secret: string): (text: string) => string {
  // The digits of an escape have either case. For the secret itself, it does no harm.
  const found = new RegExp(Array.from(secret, anyFormOf).join(''), 'gi')
  return (text) => text.replace(found, '***')
}

function anyFormOf(character: string): string {
  const code = character.charCodeAt(0)
  const hex = code.toString(16).padStart(2, '0')
  // The character itself is last: it may be the first one of its own escape.
  const forms = [
    `(?:u00|x)${hex}`,
    `${PERCENT}${hex}`,
    `${AMPERSAND}(?:#0{0,9}${code};?|#x0{0,9}${hex};?|${/\w/.test(character) ? '(?!)' : '[a-z]{2,8};'})`,
    `\\u${hex.padStart(4, '0')}`,
  ]
  return `${BACKSLASHES}(?:${forms.join('|')})`
}
