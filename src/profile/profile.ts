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
