import { crc32 } from 'node:zlib'
import { encodeRecord } from './encode.ts'

const TAG = 'fe'

/**
 * The record that ends the device's TLV string: the CRC-32 of all characters before it (ISO-HDLC, ITU-T V.42 8.1.1.6.2),
 * as 8 hex digits.
 * @param body the records before it, in lower case
 */
export const crcRecord = (body: string) => encodeRecord(TAG, crc32(body).toString(16).padStart(8, '0'))
