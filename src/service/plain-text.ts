/** The characters that error pages write by name (HTML 13.5); any other name stays as it is. */
const NAMED: Record<string, string> = {
  amp: '&',
  apos: "'",
  copy: '©',
  gt: '>',
  hellip: '…',
  ldquo: '“',
  lsquo: '‘',
  lt: '<',
  mdash: '—',
  nbsp: ' ',
  ndash: '–',
  quot: '"',
  rdquo: '”',
  rsquo: '’',
  shy: '',
}

/** What is no text, up to its end or to where the page was cut off. */
const HIDDEN = /<!--[\s\S]*?(?:-->|$)|<(script|style|svg|title)\b[\s\S]*?(?:<\/\1\s*>|$)/gi
const TITLE = /<title\b[^>]*>([\s\S]*?)(?:<\/title\s*>|$)/i

/** These may stand amid a word. */
const INLINE = /<\/?(?:a|abbr|b|code|em|font|i|small|span|strong|tt|u|wbr)\b[^>]*>/gi
const TAG = /<[!/?a-z][^>]*(?:>|$)/gi

/**
 * The text of an answer's body: of an HTML page its title and its words, without tags, entities decoded, white space
 * folded. Anything else is returned as it is.
 * @param contentType the header of that name
 */
export function plainText(body: string, contentType: string | string[] | undefined): string {
  const isHtml = /\bx?html\b/i.test(String(contentType ?? '')) || /^\s*<(?:!doctype|html|\?xml)/i.test(body)
  if (!isHtml) return body.trim()
  const title = textOf(TITLE.exec(body)?.[1] ?? '')
  const words = textOf(body.replace(HIDDEN, ' '))
  // Most pages begin with their title once more.
  return words.startsWith(title) ? words : [title, words].filter((each) => each !== '').join(': ')
}

const textOf = (html: string) =>
  decoded(html.replace(INLINE, '').replace(TAG, ' ')).replace(/\s+/g, ' ').trim()

const decoded = (text: string) =>
  text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]+));/gi, (whole, decimal, hex, name) =>
    name === undefined ? character(Number(decimal ?? `0x${hex}`)) : (NAMED[name.toLowerCase()] ?? whole),
  )

const character = (code: number) => (code <= 0x10_ffff ? String.fromCodePoint(code) : '\ufffd')
