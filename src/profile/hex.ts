import { crc32 } from 'node:zlib'
import { encodeAscii, encodeIccid, encodeImsi, encodeSmsc, hexByte } from './encode.ts'
import type { HexOptions, Profile } from './profile.ts'

/** One record of the device's TLV string. */
export interface HexRecord {
  readonly tag: string
  /** Its name in messages. */
  readonly name: string
  readonly data: string
}

/**
 * The records of a profile in the order a device reads them, each only where the profile has the field. Case means
 * nothing to a device: hex digits keep the one they came in.
 */
export function records(profile: Profile, options: HexOptions): HexRecord[] {
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

/** A record as text: tag, length, data. The length counts characters, not bytes. */
const encodeRecord = (tag: string, data: string) => tag + hexByte(data.length) + data

/**
 * The device's TLV string: one line of lower-case hex without its newline, at most 414 characters.
 * The CRC-32 covers all characters before its record.
 */
export function encodeHex(profile: Profile, options: HexOptions): string {
  const body = records(profile, options)
    .map(({ tag, data }) => encodeRecord(tag, data))
    .join('')
    .toLowerCase()
  return options.crc ? body + encodeRecord('fe', crc32(body).toString(16).padStart(8, '0')) : body
}
