/** What the values of options and variables must be. */
import { UsageError } from '../../failure.ts'
import { iccidDigits } from '../../profile/iccid.ts'

/**
 * Makes a value of a text.
 * @param name the option or the variable that the text comes from
 * @throws {UsageError}
 */
export type Parse<T> = (text: string, name: string) => T

/** What shells, env files and templates have done to a value: what it is, and what to do. The first that fits counts. */
const DAMAGE: readonly (readonly [damage: RegExp, words: string, remedy: string])[] = [
  [/^$/, 'is empty', 'the variable that it comes from is not set'],
  [/-----(BEGIN|END)/, 'is a key, not the name of a file', 'save it to a file, and name that'],
  [/[\r\n]/, 'has a line break in it', 'save the script or the file of variables with line ends of Unix'],
  [/^\s|\s$/, 'begins or ends with a blank', 'remove it'],
  [/\p{Cc}/u, 'has a control character in it', 'enter it again'],
  [
    /"|^['`\u00ab\u2018\u201a\u201c\u201e]|['`\u00bb\u2018\u2019\u201c\u201d]$/,
    'has quotes in it',
    'remove them; an env file takes a value without quotes, and cmd reads \\" as a quote',
  ],
  [/\s#\s/, 'has a comment in it', 'in an env file, a comment is a line of its own'],
  [/^~[^/\\]*([/\\]|$)/, 'begins with ~', 'a shell replaces it only where a word begins'],
  [
    /\$[a-z_({]|^\$\d|!\w+!|\{\{|^%%?~?\w|^(?!https?:).*%[a-z_]\w*%/i,
    'has a variable in it that nothing has replaced',
    'it may not be set, or stand in single quotes or in an env file: give its value',
  ],
]

/**
 * Refuses what names no file, directory, station, key or address: each would be taken for another one, or made.
 * @param example what to type; the value itself may be a secret, and is never repeated
 */
export const nameLike =
  (example: string): Parse<string> =>
  (text, name) => {
    const found = DAMAGE.find(([damage]) => damage.test(text))
    if (found === undefined) return text
    const [, words, remedy] = found
    const typed = name.startsWith('-') ? `${name} ${example}` : `${name}=${example}`
    throw new UsageError(`the value of ${name} ${words}`, `${remedy}; for example: ${typed}`)
  }

export const directory = nameLike('/data/profiles')
export const keyFile = nameLike('/data/softsim.pem')

export function receipt(text: string, name: string): string {
  if (!/^(-$|\/dev\/(?!shm\/)|\/proc\/)/.test(text)) return nameLike('/data/receipt.jsonl')(text, name)
  throw new UsageError(`${name} names a file: standard output is for the device`, 'such as receipt.jsonl')
}

export function count(text: string, name: string): number {
  if (/^0*[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new UsageError(
    `the value of ${name} is not a whole number from 1 to 999999999`,
    `for example: ${name} 100`,
  )
}

/** A filler may follow. */
export function iccid(text: string, name: string): string {
  const digits = iccidDigits(text)
  if (digits !== undefined) return digits
  const hint = 'give the whole ICCID, as in the name of the file'
  throw new UsageError(`the value of ${name} is not 18 to 20 digits`, hint)
}

export const oneOf =
  <T extends string>(...formats: T[]): Parse<T> =>
  (text, name) => {
    const found = formats.find((each) => each === text)
    if (found !== undefined) return found
    const all = `${formats.slice(0, -1).join(', ')} or ${formats.at(-1)}`
    throw new UsageError(`the value of ${name} is not ${all}`, `for example: ${name} ${formats.at(-1)}`)
  }

/** Refuses options that do not go together. */
export function refuse(isGiven: unknown, message: string, hint: string): void {
  if (isGiven) throw new UsageError(message, hint)
}
