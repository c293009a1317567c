/** The line that a device reads: records of tag, length and data (TLV), each field encoded by its standard. */

/** The fields of a decrypted profile, in the order in which `json` prints them. */
// biome-ignore format: one line is enough
export const FIELDS = ['iccid', 'k', 'opc', 'kid', 'kic', 'imsi', 'pin', 'puk', 'adm', 'smsp', 'smsc'] as const

export type Field = (typeof FIELDS)[number]

/** Each field as the service sent it. One that is absent, null or empty there is null here. */
export type Profile = { readonly [F in Field]: string | null }

/** Which of the optional records the line has. These are the defaults. */
export const HEX_OPTIONS = { smsp: false, smsc: true, crc: true }
export type HexOptions = Readonly<typeof HEX_OPTIONS>

/**
 * The line for a device: lower-case hex without a newline, at most 414 characters. A record is a tag, the number of
 * characters of its data (each two hex digits) and the data. An absent field has no record. The order never changes,
 * because old devices read only the first records. The last record is the CRC-32 of all characters before it.
 * @param profile one that `check.ts` accepts
 */
export function encodeHex(profile: Profile, options: HexOptions): string {
  const { imsi, iccid, opc, k, kic, kid, smsp, smsc, pin, puk, adm } = profile
  const records: [tag: string, data: string | null][] = [
    ['01', imsi && encodeImsi(imsi)],
    ['02', iccid && encodeIccid(iccid)],
    ['03', opc],
    ['04', k],
    ['05', kic],
    ['06', kid],
    ['07', options.smsp ? smsp : null],
    ['0c', options.smsc ? smsc && encodeSmsc(smsc) : null],
    ['08', pin && encodeAscii(pin)],
    ['0b', puk && encodeAscii(puk)],
    ['0a', adm && encodeAscii(adm)],
  ]
  const body = records
    .map(([tag, data]) => (data ? tag + hexByte(data.length) + data : ''))
    .join('')
    .toLowerCase()
  return options.crc ? `${body}fe08${crc32(body).toString(16).padStart(8, '0')}` : body
}

/**
 * EF_IMSI (TS 31.102 4.2.2) as hex: the number of bytes, then the digits with the parity nibble before them (9 for an
 * odd number of digits, 1 for an even one), swapped in pairs and padded with `f`.
 * @param imsi 6 to 15 digits
 * @returns 18 characters
 */
export function encodeImsi(imsi: string): string {
  const bytes = Math.ceil((imsi.length + 1) / 2)
  const parity = imsi.length % 2 === 1 ? '9' : '1'
  return hexByte(bytes) + swapNibbles(parity + imsi.padEnd(15, 'f'))
}

/** EF_ICCID (TS 102 221 13.2) as hex: 19 or 20 digits, swapped in pairs and padded with `f` to 20 characters. */
export const encodeIccid = (iccid: string): string => swapNibbles(iccid.replace(/f$/i, '').padEnd(20, 'f'))

/**
 * The address of the short message centre (TS 24.011 8.2.5.2) as hex: its length in bytes, the type of number (`91`:
 * international, E.164) and the digits, swapped in pairs, padded with `f` to 12 bytes.
 * @param number a telephone number. Only its digits count, 1 to 20
 * @returns 24 characters
 */
function encodeSmsc(number: string): string {
  const digits = number.replace(/\D/g, '')
  const bytes = Math.ceil(digits.length / 2)
  return `${hexByte(bytes + 1)}91${swapNibbles(digits.padEnd(bytes * 2, 'f'))}`.padEnd(24, 'f')
}

/** The ASCII characters of a PIN, a PUK or an ADM (TS 102 221 9.5.1, 11.1.9.3) as hex. */
const encodeAscii = (text: string): string => Buffer.from(text, 'latin1').toString('hex')

/** Swaps the digits of each pair, which is how a SIM stores BCD (TS 102 221 13.2). */
const swapNibbles = (digits: string): string => digits.replace(/(.)(.)/g, '$2$1')

const hexByte = (value: number): string => value.toString(16).padStart(2, '0')

/** CRC-32/ISO-HDLC (ITU-T V.42 8.1.1.6.2) of ASCII characters, as in zlib, which takes longer to load than this to run. */
export function crc32(text: string): number {
  let crc = ~0
  for (let at = 0; at < text.length; at++) {
    crc ^= text.charCodeAt(at)
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  return ~crc >>> 0
}
