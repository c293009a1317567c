import { constants, createHash, createPublicKey, type KeyLike, publicEncrypt } from 'node:crypto'
import type { Field } from '../../src/profile/hex.ts'

/** A profile as it is inside the ciphertext. */
export type PlainProfile = Record<Field, string>

/** The nth ICCID: the telecom prefix 89, a made-up issuer, the number, a Luhn check digit. */
export function iccid(n: number, digits: 19 | 20 = 20): string {
  const body = `8988${String(n).padStart(digits - 5, '0')}`
  return body + luhn(body)
}

/** The nth profile: always the same for one number, different for two. */
export function plainProfile(n: number, iccidDigits: 19 | 20 = 20): PlainProfile {
  const bytes = createHash('shake256', { outputLength: 82 }).update(`profile ${n}`).digest()
  const key = (i: number) => bytes.toString('hex', 16 * i, 16 * (i + 1)).toUpperCase()
  const digits = (length: number, at: number) =>
    String(bytes.readUIntBE(at, 6) % 10 ** length).padStart(length, '0')
  return {
    iccid: iccid(n, iccidDigits),
    imsi: `00101${String(n % 1e10).padStart(10, '0')}`,
    opc: key(0),
    k: key(1),
    kic: key(2),
    kid: key(3),
    pin: digits(4, 64),
    puk: digits(8, 70),
    adm: digits(8, 76),
    // No name, no destination: only the service centre below, as a network writes it for all its cards.
    smsp: `${'FF'.repeat(24)}FD${'FF'.repeat(12)}0791447779078484${'FF'.repeat(7)}`,
    smsc: '+447797704848',
  }
}

/** The ciphertext of a profile in base64. Takes any object, so that a test can leave fields out or spoil them. */
export function encrypt(plain: object, publicKey: KeyLike): string {
  const padding = constants.RSA_PKCS1_OAEP_PADDING
  const text = Buffer.from(JSON.stringify(plain))
  return publicEncrypt({ key: publicKey, padding, oaepHash: 'sha1' }, text).toString('base64')
}

/** The text of `<iccid>.json`, which is also one entry of the service's answer. */
export function storedFile<P extends { iccid: string }>(plain: P, publicKey: KeyLike): string {
  return JSON.stringify({ iccid: plain.iccid, profile: encrypt(plain, publicKey) })
}

export interface StockOptions {
  firstIccid: number
  supply: number
  /** All but the ICCID is the same: much faster. */
  allProfilesAlike: boolean
}

/** Profiles in the order of their ICCIDs, each taken once, until the supply is out. */
export function profileStock({ firstIccid, supply, allProfilesAlike }: StockOptions) {
  const template = plainProfile(firstIccid)
  const make = (n: number): PlainProfile =>
    allProfilesAlike ? { ...template, iccid: iccid(n) } : plainProfile(n)
  let taken = 0
  return {
    left: () => supply - taken,
    take: (count: number) =>
      Array.from({ length: Math.min(count, supply - taken) }, () => make(firstIccid + taken++)),
    /** Makes the entries of an answer, encrypted for one key. */
    sealer(publicKeyPem: string): (profile: PlainProfile) => string {
      const publicKey = createPublicKey(publicKeyPem)
      // Made at once in any case: a key too short for a profile is told at the start, not call by call.
      const alike = encrypt({ ...template, iccid: undefined }, publicKey)
      if (!allProfilesAlike) return (profile) => storedFile(profile, publicKey)
      return (profile) => `{"iccid":"${profile.iccid}","profile":"${alike}"}`
    },
  }
}

function luhn(body: string): number {
  let sum = 0
  for (let i = 0; i < body.length; i++) {
    const digit = Number(body[body.length - 1 - i])
    const doubled = i % 2 === 0 ? digit * 2 : digit
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return (10 - (sum % 10)) % 10
}

/** A record of the device's TLV string as a device reads it. */
export interface TlvRecord {
  tag: string
  data: string
}

/** Takes the string apart as a device does: two hex digits of tag, two of length in characters, the data. */
export function readTlv(text: string): TlvRecord[] {
  const records: TlvRecord[] = []
  for (let at = 0; at < text.length; ) {
    const head = text.slice(at, at + 4)
    if (!/^[0-9a-f]{4}$/.test(head)) throw new Error(`no tag and length at ${at}: ${head}`)
    const end = at + 4 + Number.parseInt(head.slice(2), 16)
    if (end > text.length) throw new Error(`the record at ${at} is cut off`)
    records.push({ tag: head.slice(0, 2), data: text.slice(at + 4, end) })
    at = end
  }
  return records
}

/** The data of the one record with a tag; undefined where there is none. */
export const dataOf = (text: string, tag: string) => readTlv(text).find((record) => record.tag === tag)?.data
