import { encodeHex, tlvsOf } from './hex.ts'
import { FIELDS, type HexOptions, type Profile } from './profile.ts'

interface Entry {
  readonly name: string
  readonly file: string
  readonly content: string
}

/** The profile alone, on one line: its eleven fields in order, null if absent. */
export function encodeRaw(profile: Profile): string {
  return JSON.stringify(inOrder(profile))
}

/** The profile and the contents of the card's files, on one line. */
export function encodeJson(profile: Profile, options: HexOptions): string {
  const dataOf = new Map(tlvsOf(profile, options).map(({ name, data }) => [name, data]))
  const { k, opc, kic, kid } = profile
  const entries: (Entry | false)[] = [
    entry('encoded imsi', '/3f00/7ff0/6f07', dataOf.get('IMSI')),
    entry('encoded iccid', '/3f00/2fe2', dataOf.get('ICCID')),
    entry('Key material for attaching to network', '/3f00/a001', k && opc && `${k}${opc}00`),
    entry(
      'Key material for OTA related functions',
      '/3f00/a004',
      kic && kid && `b00011060101${kic}${kid}`.padEnd(228, 'f'),
    ),
    entry('Hex encoded profile', 'n/a', encodeHex(profile, options)),
  ]
  return JSON.stringify({ profile: inOrder(profile), additional_fields: entries.filter(Boolean) })
}

const entry = (name: string, file: string, content: string | null | undefined): Entry | false =>
  content ? { name, file, content } : false

const inOrder = (profile: Profile) => Object.fromEntries(FIELDS.map((field) => [field, profile[field]]))
