import * as t from 'typanion'
import { iccidDigits } from '../profile/iccid.ts'

const isList = t.isObject({ profiles: t.isArray(t.isUnknown()) }, { extra: t.isRecord(t.isUnknown()) })
const isNamed = t.isObject({ iccid: t.isString() }, { extra: t.isRecord(t.isUnknown()) })
const isEntry = t.isObject(
  { iccid: t.isString(), profile: t.isString() },
  { extra: t.isRecord(t.isUnknown()) },
)
const isCiphertext = t.cascade(t.isString(), [t.hasMinLength(1), t.isBase64()])

type Entry = t.InferType<typeof isEntry>

export interface ProfileList {
  /** The ciphertext in `profile` is base64. */
  readonly profiles: readonly Entry[]
  /** What is wrong with the other entries, one line for each. */
  readonly refused: readonly string[]
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
