/** How services escape what they repeat, and how it is read again. */
import fc from 'fast-check'

/** Characters and their names in HTML. */
const NAMES: Record<string, string> = Object.fromEntries(
  `!excl "quot #num $dollar %percnt &amp 'apos *ast +plus ,comma .period /sol :colon ;semi <lt =equals >gt ?quest @commat \\bsol |vert`
    .split(' ')
    .map((each) => [each[0], each.slice(1)]),
)

const hexOf = (character: string) => character.charCodeAt(0).toString(16).padStart(2, '0')

/** One character in every form that the program promises to know. */
function formsOf(character: string): string[] {
  const hex = hexOf(character)
  const name = NAMES[character]
  const numbers = [hex, hex.toUpperCase()].flatMap((each) => [
    `\\u00${each}`,
    `\\\\u00${each}`,
    `\\x${each}`,
    `%5Cu00${each}`,
    `\\u005cu00${each}`,
    `%${each}`,
    `%25${each}`,
    `\\u0025${each}`,
    `&#x${each};`,
    `&amp;#x${each};`,
  ])
  return [
    character,
    ...numbers,
    `&#${character.charCodeAt(0)};`,
    ...(/\w/.test(character) ? [] : [`\\${character}`, `\\\\${character}`]),
    ...(name === undefined ? [] : [`&${name};`, `&amp;${name};`]),
  ]
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const PRINTABLE = Array.from({ length: 0x7e - 0x21 + 1 }, (_, n) => String.fromCharCode(0x21 + n))

/** API keys as services make them, and odd ones. */
export const anyKey: fc.Arbitrary<string> = fc.oneof(
  fc
    .string({ unit: fc.constantFrom(...BASE64), minLength: 20, maxLength: 60 })
    .map((text) => `${text}${'='.repeat((3 - (text.length % 3)) % 3)}`),
  fc.string({ unit: fc.constantFrom(...PRINTABLE), minLength: 16, maxLength: 60 }),
)

/** A text, each character in any of its forms. */
export const echoOf = (key: string): fc.Arbitrary<string> =>
  fc
    .tuple(...Array.from(key, (character) => fc.constantFrom(character, ...formsOf(character))))
    .map((forms) => forms.join(''))

/** Undoes one layer of escapes. */
const undone = (text: string) =>
  text
    .replace(/\\+u005c/gi, '\\')
    .replace(/%(25)*5c/gi, '\\')
    .replace(/\\+(?:u00|x)([\da-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/%(?:25)*([\da-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/&(?:amp;)*#x([\da-f]{2});/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/&(?:amp;)*#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
    .replace(/&(?:amp;)*([a-z]+);/g, (whole, name) => {
      return Object.entries(NAMES).find(([, each]) => each === name)?.[0] ?? whole
    })

/** The pieces of a key, of this length, that somebody could read in a text, escaped or not. */
export function piecesIn(text: string, key: string, length: number): string[] {
  const texts = [text]
  for (let layer = 0; layer < 4; layer++) texts.push(undone(texts.at(-1) ?? ''))
  const readable = texts.flatMap((each) => [each, each.replaceAll('\\', '')]).join('\n')
  const pieces = Array.from({ length: key.length - length + 1 }, (_, at) => key.slice(at, at + length))
  return pieces.filter((piece) => readable.includes(piece) || readable.includes(piece.replaceAll('\\', '')))
}
