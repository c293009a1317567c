import { encodeRecord } from './encodings.ts'

const TAG = 'fe'

/** The polynomial of CRC-32/ISO-HDLC with its bits reversed. */
const POLYNOMIAL = 0xedb88320

/** What four bits add to the remainder. */
const NIBBLES = Array.from({ length: 16 }, (_, nibble) => {
  let crc = nibble
  for (let bit = 0; bit < 4; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1
  return crc
})

/** CRC-32/ISO-HDLC (ITU-T V.42 8.1.1.6.2), as in zlib. Loading `node:zlib` takes longer than this. */
export function crc32(text: string): number {
  let crc = ~0
  for (let at = 0; at < text.length; at++) {
    crc ^= text.charCodeAt(at)
    for (let half = 0; half < 2; half++) crc = (crc >>> 4) ^ (NIBBLES[crc & 15] ?? 0)
  }
  return ~crc >>> 0
}

/**
 * The record that ends the device's TLV string: the CRC-32 of all characters before it (ISO-HDLC, ITU-T V.42 8.1.1.6.2),
 * as 8 hex digits.
 * @param body the records before it, in lower case
 */
export const crcRecord = (body: string) => encodeRecord(TAG, crc32(body).toString(16).padStart(8, '0'))
