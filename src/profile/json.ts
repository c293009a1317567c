/** The profile as JSON, alone or with the files that a card would hold; and the table of all formats. */
import { encodeHex, encodeIccid, encodeImsi, FIELDS, type HexOptions, type Profile } from './hex.ts'

/** The profile alone: its eleven fields in order, null if absent. */
export const encodeRaw = (profile: Profile): string => JSON.stringify(inOrder(profile))

/**
 * The profile, and the contents of the card's files: `{"profile":{…},"additional_fields":[{"name","file","content"}, …]}`.
 * A file whose fields are absent is left out. The contents keep the case of the fields, except for the `hex` line.
 */
export function encodeJson(profile: Profile, options: HexOptions): string {
  const { imsi, iccid, k, opc, kic, kid } = profile
  const network = k && opc && `${k}${opc}00`
  const overTheAir = kic && kid && `b00011060101${kic}${kid}`.padEnd(228, 'f')
  const files: [name: string, file: string, content: string | null][] = [
    ['encoded imsi', '/3f00/7ff0/6f07', imsi && encodeImsi(imsi)],
    ['encoded iccid', '/3f00/2fe2', iccid && encodeIccid(iccid)],
    ['Key material for attaching to network', '/3f00/a001', network],
    ['Key material for OTA related functions', '/3f00/a004', overTheAir],
    ['Hex encoded profile', 'n/a', encodeHex(profile, options)],
  ]
  const present = files.filter(([, , content]) => content)
  const additional = present.map(([name, file, content]) => ({ name, file, content }))
  return JSON.stringify({ profile: inOrder(profile), additional_fields: additional })
}

const inOrder = (profile: Profile) => Object.fromEntries(FIELDS.map((field) => [field, profile[field]]))

/** Each encoder returns one line without its newline. */
export const FORMATS = { hex: encodeHex, json: encodeJson, raw: encodeRaw }

export type Format = keyof typeof FORMATS
