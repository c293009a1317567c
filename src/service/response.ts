/** Reads a response of the service: its bytes, and the profiles in it. */
import * as t from 'typanion'
import { iccidDigits } from '../profile/iccid.ts'
import { CallFailure } from './call-failure.ts'
import { type Limit, readLimit } from './rate-limit.ts'

/** A body that brings fewer bytes than this in this time is given up. Even the slowest modem is faster. */
export interface LeastRate {
  readonly bytes: number
  readonly ms: number
}

type Body = AsyncIterable<Uint8Array>

const LONGEST_MESSAGE = 16 * 1024
/** A truncated text may end with the first part of a secret, which would not be masked. */
const DOUBTFUL = 4 * 1024

const isList = t.isObject({ profiles: t.isArray(t.isUnknown()) }, { extra: t.isRecord(t.isUnknown()) })
const isNamed = t.isObject({ iccid: t.isString() }, { extra: t.isRecord(t.isUnknown()) })
const isEntry = t.isObject(
  { iccid: t.isString(), profile: t.isString() },
  { extra: t.isRecord(t.isUnknown()) },
)
const isCiphertext = t.cascade(t.isString(), [t.hasMinLength(1), t.isBase64()])

type Entry = t.InferType<typeof isEntry>

interface ProfileList {
  /** The ciphertext in `profile` is base64. */
  readonly profiles: readonly Entry[]
  /** What is wrong with the other entries, one line for each. */
  readonly refused: readonly string[]
}

export interface Response {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  /** As it came. */
  readonly body: Buffer
  /** In milliseconds, from the first byte of the body to the last. */
  readonly bodyMs: number
  /** In milliseconds, from the request to the last byte. */
  readonly totalMs: number
}

/** What one response brings. */
export interface Batch extends ProfileList, Pick<Response, 'body' | 'bodyMs' | 'totalMs'> {
  readonly limit: Limit
}

/** @throws {CallFailure} if the body is larger than `largest` bytes or arrives too slowly; the rest is not read */
export async function readWhole(body: Body, largest: number, least: LeastRate): Promise<Buffer> {
  const parts: Uint8Array[] = []
  if (await readInto(parts, body, largest, least)) return Buffer.concat(parts)
  throw new CallFailure('the answer is too large for the number of profiles requested', {
    mayHaveAllocated: true,
  })
}

/** Reads the beginning of an error text. Connection errors do not matter here. */
export async function readStart(body: Body, least: LeastRate): Promise<Buffer> {
  const parts: Uint8Array[] = []
  const isWhole = await readInto(parts, body, LONGEST_MESSAGE, least).catch(() => false)
  return Buffer.concat(parts).subarray(0, isWhole ? undefined : -DOUBTFUL)
}

/**
 * Stops only when almost nothing arrives: giving up an answer costs the profiles in it.
 * @returns false if there are more than `most` bytes; the rest is not read
 */
async function readInto(parts: Uint8Array[], body: Body, most: number, least: LeastRate): Promise<boolean> {
  let size = 0
  let last = { size, at: performance.now() }
  for await (const part of body) {
    parts.push(part)
    size += part.length
    if (size > most) return false
    const at = performance.now()
    if (at - last.at < least.ms) continue
    if (size - last.size < least.bytes)
      throw new CallFailure('the answer arrives too slowly', { isPassing: true, mayHaveAllocated: true })
    last = { size, at }
  }
  return true
}

/** @throws {CallFailure} if it has no list of profiles */
export function batchIn({ status, headers, body, bodyMs, totalMs }: Response): Batch {
  const text = body.toString('utf8')
  // What is compressed, or only said to be, shows here.
  const list = parseProfileList(text)
  if (list !== undefined)
    return { ...list, body, bodyMs, totalMs, limit: readLimit(status, headers, Date.now()) }
  // No part of a list begins like this.
  if (/^\s*</.test(text)) throw new CallFailure('the answer is a web page', { facts: 'no-service' })
  const isCompressed = !['', 'identity'].includes(String(headers['content-encoding'] ?? '').toLowerCase())
  throw new CallFailure(
    isCompressed
      ? 'the answer is compressed, but compression was not requested'
      : 'the answer is not JSON with a list named "profiles"',
    {
      mayHaveAllocated: true,
      facts: 'not-a-list',
      unread: body,
    },
  )
}

/**
 * Checks each entry on its own, so that a bad one does not lose the good ones.
 * @returns undefined if the text is not a list of profiles
 */
export function parseProfileList(body: string): ProfileList | undefined {
  let json: unknown
  try {
    // RFC 8259 8.1: a parser may ignore a byte order mark.
    json = JSON.parse(body.replace(/^\ufeff/, ''))
  } catch {
    return undefined
  }
  if (!isList(json)) return undefined
  const profiles: Entry[] = []
  const refused: string[] = []
  for (const [at, entry] of json.profiles.entries()) {
    const problem = problemOf(entry)
    if (problem === undefined) profiles.push(entry as Entry)
    else refused.push(`entry ${at + 1}${nameOf(entry)}: ${problem}`)
  }
  return { profiles, refused }
}

function problemOf(entry: unknown): string | undefined {
  if (!isEntry(entry)) return 'the ICCID or the profile is missing or not a string'
  if (iccidDigits(entry.iccid) === undefined) return 'the ICCID is not 1 to 20 digits'
  return isCiphertext(entry.profile) ? undefined : 'the profile is not base64'
}

/** Anything that can't be an ICCID is not repeated, because it may be the API key. */
function nameOf(entry: unknown): string {
  const iccid = isNamed(entry) ? iccidDigits(entry.iccid) : undefined
  return iccid === undefined ? '' : ` (ICCID ${iccid})`
}
