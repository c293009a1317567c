/** The fields of a decrypted profile, in the order `json` prints them. All are text, as the service wrote them. */
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

/** A decrypted profile; a field that is absent, null or empty in the plaintext is null here. */
export type Profile = { readonly [F in Field]: string | null }

/** Which records the device gets beside those every profile has. */
export interface HexOptions {
  /** Include the SMSP record. */
  readonly smsp: boolean
  /** Include the SMSC record. */
  readonly smsc: boolean
  /** End with the CRC-32 record. */
  readonly crc: boolean
}
