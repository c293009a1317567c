import * as t from 'typanion'
import { iccidDigits } from '../profile/iccid.ts'

/** One profile as the service sends it: its ICCID, and its ciphertext in base64. */
export interface ServedProfile {
  readonly iccid: string
  readonly profile: string
}

export interface Answer {
  readonly profiles: ServedProfile[]
  /** What is wrong with each entry that can't be used. */
  readonly refused: string[]
}

const isAnswer = t.isObject({ profiles: t.isArray(t.isUnknown()) }, { extra: t.isRecord(t.isUnknown()) })
const isEntry = t.isObject(
  { iccid: t.isString(), profile: t.isString() },
  { extra: t.isRecord(t.isUnknown()) },
)
const isCiphertext = t.cascade(t.isString(), [t.hasMinLength(1), t.isBase64()])

/**
 * Checks the body of a 200 answer, entry by entry: a bad one does not lose the good ones.
 * @returns undefined where the text is no such answer at all
 */
export function parseAnswer(body: string): Answer | undefined {
  let json: unknown
  try {
    json = JSON.parse(body)
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
  if (!isEntry(entry)) return 'it has no ICCID and profile'
  if (iccidDigits(entry.iccid) === undefined) return 'its ICCID is not 1 to 20 digits'
  return isCiphertext(entry.profile) ? undefined : 'its profile is not base64'
}

/** Only what may be an ICCID is repeated: it could be anything, the API key too. */
const nameOf = (entry: unknown) =>
  isEntry(entry) && /^[\dFf]{1,32}$/.test(entry.iccid) ? ` (ICCID ${entry.iccid})` : ''
