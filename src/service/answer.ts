import * as t from 'typanion'
import { iccidDigits } from '../profile/iccid.ts'

/** The ciphertext in `profile` is base64. */
export interface ServedProfile {
  readonly iccid: string
  readonly profile: string
}

export interface Answer {
  readonly profiles: ServedProfile[]
  readonly refused: string[]
}

const isAnswer = t.isObject({ profiles: t.isArray(t.isUnknown()) }, { extra: t.isRecord(t.isUnknown()) })
const isNamed = t.isObject({ iccid: t.isString() }, { extra: t.isRecord(t.isUnknown()) })
const isEntry = t.isObject(
  { iccid: t.isString(), profile: t.isString() },
  { extra: t.isRecord(t.isUnknown()) },
)
const isCiphertext = t.cascade(t.isString(), [t.hasMinLength(1), t.isBase64()])

/**
 * Checks each entry on its own, so that a bad one does not lose the good ones.
 * @returns undefined if the text is not a list of profiles
 */
export function parseAnswer(body: string): Answer | undefined {
  let json: unknown
  try {
    // RFC 8259 8.1: a parser may ignore a byte order mark.
    json = JSON.parse(body.replace(/^\ufeff/, ''))
  } catch {
    return undefined
  }
  if (!isAnswer(json)) return undefined
  const answer: Answer = { profiles: [], refused: [] }
  for (const [at, entry] of json.profiles.entries()) {
    const problem = problemOf(entry)
    if (problem === undefined) answer.profiles.push(entry as ServedProfile)
    else answer.refused.push(`entry ${at + 1}${nameOf(entry)}: ${problem}`)
  }
  return answer
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
