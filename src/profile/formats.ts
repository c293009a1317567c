/**
 * A profile, and as the line that is printed. A device reads `hex`: records of tag, length and data (TLV), each field
 * encoded by its standard.
 */

/**
 * The fields of a decrypted profile, in the order in which `json` prints them. All are text, as received from the
 * service.
 */
export const FIELDS = [
  'iccid',
  'k',
  'opc',
  'kid',
  'kic',
  'imsi',
  'pin',
  'puk',
  'adm',
  'smsp',
  'smsc',
] as const

export type Field = (typeof FIELDS)[number]

/** A field that is absent, null or empty in the decrypted text is null here. */
export type Profile = { readonly [F in Field]: string | null }

export interface HexOptions {
  readonly smsp: boolean
  readonly smsc: boolean
  readonly crc: boolean
}

/** The tag of the record that ends the line. */
const CRC_TAG = 'fe'

/** The polynomial of CRC-32/ISO-HDLC with its bits reversed. */
const POLYNOMIAL = 0xedb88320

/** What four bits add to the remainder. */
const NIBBLES = Array.from({ length: 16 }, (_, nibble) => {
  let crc = nibble
  for (let bit = 0; bit < 4; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1
  return crc
})

interface Tlv {
  readonly tag: string
  readonly name: string
  readonly data: string
}

/**
 * Returns the records of a profile in the order in which a device reads them, without those whose field is absent.
 * Devices ignore case, so hex digits keep theirs.
 */
function tlvsOf(profile: Profile, options: HexOptions): Tlv[] {
  const { imsi, iccid, opc, k, kic, kid, smsp, smsc, pin, puk, adm } = profile
  const all: [tag: string, name: string, data: string | null][] = [
    ['01', 'IMSI', imsi && encodeImsi(imsi)],
    ['02', 'ICCID', iccid && encodeIccid(iccid.replace(/[Ff]$/, ''))],
    ['03', 'OPc', opc],
    ['04', 'K', k],
    ['05', 'KIC', kic],
    ['06', 'KID', kid],
    ['07', 'SMSP', options.smsp ? smsp : null],
    ['0c', 'SMSC', options.smsc ? smsc && encodeSmsc(smsc) : null],
    ['08', 'PIN', pin && encodeAscii(pin)],
    ['0b', 'PUK', puk && encodeAscii(puk)],
    ['0a', 'ADM', adm && encodeAscii(adm)],
  ]
  return all.flatMap(([tag, name, data]) => (data ? [{ tag, name, data }] : []))
}

/**
 * The device's TLV string: one line of lower-case hex without a newline, at most 414 characters. The CRC-32 covers
 * all characters before its record.
 */
export function encodeHex(profile: Profile, options: HexOptions): string {
  const body = tlvsOf(profile, options)
    .map(({ tag, data }) => encodeTlv(tag, data))
    .join('')
    .toLowerCase()
  return options.crc ? body + encodeTlv(CRC_TAG, crc32(body).toString(16).padStart(8, '0')) : body
}

/** A record of the device's TLV string: tag, length, data. The length counts characters, not bytes. */
function encodeTlv(tag: string, data: string): string {
  return tag + hexByte(data.length) + data
}

/** Swaps the digits of each pair, which is how a SIM stores BCD (TS 102 221 13.2). */
function swapNibbles(text: string): string {
  return text.replace(/(.)(.)/gs, '$2$1')
}

/**
 * EF_IMSI (TS 31.102 4.2.2) as hex: one length byte, the parity nibble (9 for an odd number of digits, 1 for an even
 * one) and the digits, padded with `f`.
 * @param imsi 6 to 15 digits
 * @returns 18 characters
 */
function encodeImsi(imsi: string): string {
  const bytes = Math.ceil((imsi.length + 1) / 2)
  const parity = imsi.length % 2 === 1 ? '9' : '1'
  return hexByte(bytes) + swapNibbles(parity + imsi.padEnd(15, 'f'))
}

/**
 * EF_ICCID (TS 102 221 13.2) as hex.
 * @param iccid 19 or 20 digits
 * @returns 20 characters
 */
function encodeIccid(iccid: string): string {
  return swapNibbles(iccid.padEnd(20, 'f'))
}

/**
 * The address of the short message centre: its length in bytes, the type of number (`91`, international, E.164) and
 * the digits (TS 24.011 8.2.5.2), padded with `ff` to 12 bytes.
 * @param number a telephone number; only its digits count, at most 20
 * @returns 24 characters
 */
function encodeSmsc(number: string): string {
  const digits = number.replace(/\D/g, '')
  const bytes = Math.ceil(digits.length / 2)
  return `${hexByte(bytes + 1)}91${swapNibbles(digits.padEnd(bytes * 2, 'f'))}`.padEnd(24, 'f')
}

function encodeAscii(text: string): string {
  return Buffer.from(text, 'latin1').toString('hex')
}

function hexByte(value: number): string {
  return value.toString(16).padStart(2, '0')
}

/** CRC-32/ISO-HDLC (ITU-T V.42 8.1.1.6.2), as in zlib. Loading `node:zlib` takes longer than this. */
export function crc32(text: string): number {
  let crc = ~0
  for (let at = 0; at < text.length; at++) {
    crc ^= text.charCodeAt(at)
    for (let half = 0; half < 2; half++) crc = (crc >>> 4) ^ (NIBBLES[crc & 15] ?? 0)
  }
  return ~crc >>> 0
}

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

/** Each encoder returns one line without its newline. */
export const FORMATS = { hex: encodeHex, json: encodeJson, raw: encodeRaw }

export type Format = keyof typeof FORMATS
