/** Reads an answer of the service: the profiles in it, or why there are none, and its rate limit and pause (`Retry-After`). */
import { UnusableProfile } from '../failure.ts'
import { iccidDigits, parseJson, type StoredProfile, storedProfile } from '../profile/check.ts'
import { CallFailure } from './call-failure.ts'

export type Headers = Readonly<Record<string, string | string[] | undefined>>

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: string
  /** Replaces the API key in a text by asterisks. */
  readonly hide: (text: string) => string
}

export interface Limit {
  /** Requests that are left until `waitMs` is over; undefined if the service does not say it. */
  readonly remaining: number | undefined
  /** From the answer until requests are allowed again. */
  readonly waitMs: number
}

/** What an answer brings. */
export interface Batch {
  readonly profiles: readonly StoredProfile[]
  /** What is wrong with the other entries, one line for each. */
  readonly refused: readonly string[]
  readonly limit: Limit
}

/** How much of an error text is looked at, and how much of that is shown. */
const [READ, SHOWN] = [16 * 1024, 200]

const OPERATOR =
  'check the URL of the service, and try again later; if that does not help, tell the operator of the service'
const PAGE =
  'the service sends no web pages: the URL is wrong, or a proxy or a login page has answered in place of the service'

/** @throws {CallFailure} if it has no list of profiles */
export function readAnswer(answer: Answer, url: URL): Batch {
  const { status, headers, body } = answer
  // What another success status than 200 brings is paid for, too.
  if (status < 200 || status >= 300) throw statusFailure(answer, url)
  // RFC 8259 8.1: a parser may ignore a byte order mark.
  const { profiles: list } = (parseJson(body.replace(/^\ufeff/, '')) ?? {}) as { profiles?: unknown }
  if (Array.isArray(list) && list.length === 0) throw noMore('')
  if (Array.isArray(list)) return { ...entriesIn(list), limit: readLimit(status, headers) }
  if (isWebPage(body)) throw new CallFailure(`the answer is a web page${shown(answer)}`, PAGE)
  const what = `the answer is not JSON with a list named "profiles"${shown(answer)}`
  throw new CallFailure(what, OPERATOR, { mayHaveAllocated: true, profiles: profilesIn(body) })
}

const noMore = (more: string): CallFailure =>
  new CallFailure(
    `the service has no more profiles${more}`,
    'ask the service provider for more; if your account has some, check the URL of the service',
    { outcome: 'no-profiles' },
  )

/** @returns the failure of an answer of a cache: nothing of it may be read, also if it breaks off */
export function cacheFailure(status: number, headers: Headers): CallFailure | undefined {
  const sign = status < 429 ? cacheSign(headers) : undefined
  return sign === undefined ? undefined : repeated(`the answer is from a cache (${sign})`)
}

/** @param what says how it is known that an answer was meant for another request */
export const repeated = (what: string): CallFailure =>
  new CallFailure(
    `${what}: other devices may have its profiles, and none of them is stored`,
    'ask the operator of the proxy or gateway in between to pass each request on to the service, without a cache',
    { isRepeated: true },
  )

/** In such headers caches say what they did. X-Cache-Lookup is none: Squid says HIT in it also for fresh answers. */
const CACHE = /^age$|(?:^|-)(?:cache(?:-status|-hits)?|varnish)$/
/** As "age: 35", "x-cache: TCP_HIT", "x-cache-hits: 0, 1", and "x-varnish: 35 12", where 12 is the request that was stored. */
const HIT =
  /(?:[\s,;_]|refresh)(?:hit|stale|updating|revalidated)(?![\w.-]|=\?0)|hits: .*[1-9]|varnish: \d+ \d/i

/** What says that an answer comes from a cache (RFC 9111 5.1, RFC 9211); undefined if nothing does. */
function cacheSign(headers: Headers): string | undefined {
  const lines = Object.keys(headers).flatMap((each) => (CACHE.test(each) ? `${each}: ${headers[each]}` : []))
  // Without the names of caches: "MISS from hit.example", "hit.example; fwd=miss".
  const isHit = (line: string) =>
    /^age: .*[1-9]/.test(line) ||
    HIT.test(line.replace(/\bfrom\b[^,;]*|[^,;]+;(?=[^,]*\bfwd=)|"[^"]*"/gi, ''))
  return lines.find(isHit)?.slice(0, SHOWN)
}

/** Checks each entry on its own, so that a bad one does not lose the good ones. */
function entriesIn(list: readonly unknown[]): Omit<Batch, 'limit'> {
  const profiles: StoredProfile[] = []
  const refused: string[] = []
  for (const [at, entry] of list.entries()) {
    try {
      profiles.push(storedProfile(entry))
    } catch (error) {
      if (!(error instanceof UnusableProfile)) throw error
      // What can't be an ICCID is not repeated, because it may be the API key.
      const { iccid } = (entry ?? {}) as { iccid?: unknown }
      const digits = typeof iccid === 'string' ? iccidDigits(iccid) : undefined
      refused.push(`entry ${at + 1}${digits === undefined ? '' : ` (ICCID ${digits})`}: ${error.message}`)
    }
  }
  return { profiles, refused }
}

/** Larger than any entry. What holds many entries is not parsed again. */
const LARGEST_ENTRY = 64 * 1024
/** A string of JSON, which may have braces in it and no line feed, or a brace. */
const TOKEN = /"[^"\\\n]*(?:\\.[^"\\\n]*)*"|[{}]/g

/** Returns the profiles of an answer that broke off, or is no list: each object that is complete and is a profile. */
export function profilesIn(body: string): readonly StoredProfile[] {
  const begins: number[] = []
  const objects: unknown[] = []
  for (const { 0: token, index } of body.matchAll(TOKEN)) {
    if (token === '{') begins.push(index)
    const begin = token === '}' ? begins.pop() : undefined
    if (begin !== undefined && index - begin < LARGEST_ENTRY)
      objects.push(parseJson(body.slice(begin, index + 1)))
  }
  return entriesIn(objects).profiles
}

/** The beginning of a text, without the API key. The title of a web page says enough. */
function shown({ body, hide }: Answer): string {
  // Where the text was cut there may be a part of the API key, which is not found.
  const hidden = hide(body.slice(0, READ)).slice(0, body.length > READ ? -READ / 4 : undefined)
  const text = isWebPage(body) ? (/<title\b[^>]*>([^<]*)<\/title/i.exec(hidden)?.[1] ?? '') : hidden
  const line = text.replace(/\r?\n\s*/g, ' ').trim()
  return line === '' ? '' : `: ${Array.from(line).slice(0, SHOWN).join('')}`
}

/** Neither a list of profiles nor a text of the service begins like this. */
const isWebPage = (body: string): boolean => /^\s*</.test(body)

function statusFailure(answer: Answer, url: URL): CallFailure {
  const { status, headers, body, hide } = answer
  const failure = (what: string, hint: string, traits = {}) =>
    new CallFailure(`${what} (${status})${shown(answer)}`, hint, traits)
  if (status === 401 || status === 403) {
    const hint = `use an API key for SoftSIM profiles${status === 403 ? '; or check the URL of the service' : ''}`
    return failure('the service does not accept the API key', hint, { outcome: 'api-key' })
  }
  if (status === 404 && isWebPage(body)) return failure('there is no profile service at this address', PAGE)
  if (status === 404) return noMore(` (404)${shown(answer)}`)
  const { remaining, waitMs } = readLimit(status, headers)
  const pauseMs = remaining === 0 ? waitMs : 0
  if (status === 429)
    return failure('the rate limit is reached', 'try again later', { pauseMs, isPassing: true })
  const to = status < 400 && headers['location'] ? URL.parse(String(headers['location']), url.href) : null
  if (to !== null) {
    const hint = 'if you trust that address, give it as the URL of the service; the key was not sent there'
    return new CallFailure(`the service redirects to ${hide(to.origin + to.pathname)} (${status})`, hint)
  }
  // A gateway may have passed the request on, and a service that failed may have allocated profiles first. Nothing was
  // started if the answer says when to retry, or what is not supported (RFC 9110 15.6, RFC 6585 6).
  const isPutOff = status === 503 && remaining === 0 && headers['retry-after'] !== undefined
  const isLost = status >= 500 && ![501, 505, 511].includes(status)
  return new CallFailure(`the service answered ${status}${shown(answer)}`, OPERATOR, {
    pauseMs,
    // 408: the request took too long to arrive, as on a slow line.
    isPassing: isLost || status === 408,
    mayHaveAllocated: isLost && !isPutOff,
  })
}

const WINDOW_MS = 60_000

/** A longer pause ends the call: two windows are always enough, and nobody sits and waits for more. */
export const LONGEST_WAIT_MS = 2 * WINDOW_MS

/**
 * Reads `x-ratelimit-remaining`, `x-ratelimit-reset` and, with 429 or 503, `Retry-After` (RFC 9110 10.2.3). A time counts
 * only beside the service's own clock (`Date`), because the clock of this machine may be wrong. What has another form
 * is no header.
 */
export function readLimit(status: number, headers: Headers): Limit {
  const now = dateIn(headers['date'])
  const until = (time: number) => (Number.isNaN(time - now) ? undefined : Math.max(0, time - now))
  if (status === 429 || status === 503) {
    const seconds = numberIn(headers['retry-after'])
    const waitMs = seconds === undefined ? until(dateIn(headers['retry-after'])) : seconds * 1000
    if (waitMs !== undefined) return { remaining: 0, waitMs }
  }
  // Unix time in seconds. Gateways also send milliseconds, or how many seconds are left; these can't be mixed up.
  const reset = numberIn(headers['x-ratelimit-reset']) ?? Number.NaN
  const waitMs = (reset < 1e9 ? reset * 1000 : until(reset < 1e11 ? reset * 1000 : reset)) ?? WINDOW_MS
  return { remaining: status === 429 ? 0 : numberIn(headers['x-ratelimit-remaining']), waitMs }
}

/** A number that is not negative. Fractions are rounded up. */
const numberIn = (header: Headers[string]): number | undefined =>
  typeof header === 'string' && /^\d{1,15}(?:\.\d+)?$/.test(header) ? Math.ceil(Number(header)) : undefined

/** The three forms of a date in HTTP (RFC 9110 5.6.7). The third one does not say that it is in GMT. */
function dateIn(header: Headers[string]): number {
  const text = String(header)
  const isDate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [\w: -]+$/.test(text)
  return isDate ? Date.parse(text.endsWith(' GMT') ? text : `${text} GMT`) : Number.NaN
}
