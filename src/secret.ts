/** How a secret is found in a text of somebody else, who may have escaped any of its characters in any way. */

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
