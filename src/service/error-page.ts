/** Named character references that occur on error pages (HTML 13.5). Other names stay unchanged. */
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

/** Elements without visible text, up to their end or to the point where the page was cut off. */
const HIDDEN = /<!--[\s\S]*?(?:-->|$)|<(script|style|svg|title)\b[\s\S]*?(?:<\/\1\s*>|$)/gi
const TITLE = /<title\b[^>]*>([\s\S]*?)(?:<\/title\s*>|$)/i

/** Tags that can occur inside a word. */
const INLINE = /<\/?(?:a|abbr|b|code|em|font|i|small|span|strong|tt|u|wbr)\b[^>]*>/gi
const TAG = /<[!/?a-z][^>]*(?:>|$)/gi

/** @param contentType the value of the Content-Type header */
export const isPage = (body: string, contentType: string | string[] | undefined): boolean =>
  /\bx?html\b/i.test(String(contentType ?? '')) || /^\s*<(?:!doctype|html|\?xml)/i.test(body)

/**
 * Of an HTML page, returns the title and the text. Returns any other body unchanged.
 * @param contentType the value of the Content-Type header
 */
export function plainText(body: string, contentType: string | string[] | undefined): string {
  if (!isPage(body, contentType)) return body.trim()
  const title = textOf(TITLE.exec(body)?.[1] ?? '')
  const words = textOf(body.replace(HIDDEN, ' '))
  // The text of most pages begins with the title.
  return words.startsWith(title) ? words : [title, words].filter((each) => each !== '').join(': ')
}

const textOf = (html: string) =>
  decoded(html.replace(INLINE, '').replace(TAG, ' ')).replace(/\s+/g, ' ').trim()

const decoded = (text: string) =>
  text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]+));/gi, (whole, decimal, hex, name) =>
    name === undefined ? character(Number(decimal ?? `0x${hex}`)) : (NAMED[name.toLowerCase()] ?? whole),
  )

const character = (code: number) => (code <= 0x10_ffff ? String.fromCodePoint(code) : '\ufffd')
