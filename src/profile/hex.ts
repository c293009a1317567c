import { crcRecord } from './crc.ts'
import { encodeAscii, encodeIccid, encodeImsi, encodeRecord, encodeSmsc } from './encodings.ts'
import type { HexOptions, Profile } from './profile.ts'

export interface HexRecord {
  readonly tag: string
  readonly name: string
  readonly data: string
}

/**
 * Returns the records of a profile in the order in which a device reads them, without those whose field is absent.
 * Devices ignore case, so hex digits keep theirs.
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

/**
 * The device's TLV string: one line of lower-case hex without a newline, at most 414 characters. The CRC-32 covers
 * all characters before its record.
 */
export function encodeHex(profile: Profile, options: HexOptions): string {
  const body = records(profile, options)
    .map(({ tag, data }) => encodeRecord(tag, data))
    .join('')
    .toLowerCase()
  return options.crc ? body + crcRecord(body) : body
}
