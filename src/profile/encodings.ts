/** Swaps the digits of each pair, which is how a SIM stores BCD (TS 102 221 13.2). */
export function swapNibbles(text: string): string {
  return text.replace(/(.)(.)/gs, '$2$1')
}

/**
 * EF_IMSI (TS 31.102 4.2.2) as hex: one length byte, the parity nibble (9 for an odd number of digits, 1 for an even
 * one) and the digits, padded with `f`.
 * @param imsi 6 to 15 digits
 * @returns 18 characters
 */
export function encodeImsi(imsi: string): string {
  const bytes = Math.ceil((imsi.length + 1) / 2)
  const parity = imsi.length % 2 === 1 ? '9' : '1'
  return hexByte(bytes) + swapNibbles(parity + imsi.padEnd(15, 'f'))
}

/**
 * EF_ICCID (TS 102 221 13.2) as hex.
 * @param iccid 19 or 20 digits
 * @returns 20 characters
 */
export function encodeIccid(iccid: string): string {
  return swapNibbles(iccid.padEnd(20, 'f'))
}

/**
 * The address of the short message centre: its length in bytes, the type of number (`91`, international, E.164) and
 * the digits (TS 24.011 8.2.5.2), padded with `ff` to 12 bytes.
 * @param number a telephone number; only its digits count, at most 20
 * @returns 24 characters
 */
export function encodeSmsc(number: string): string {
  const digits = number.replace(/\D/g, '')
  const bytes = Math.ceil(digits.length / 2)
  return `${hexByte(bytes + 1)}91${swapNibbles(digits.padEnd(bytes * 2, 'f'))}`.padEnd(24, 'f')
}

export function encodeAscii(text: string): string {
  return Buffer.from(text, 'latin1').toString('hex')
}

export function hexByte(value: number): string {
  return value.toString(16).padStart(2, '0')
}

/** A record of the device's TLV string: tag, length, data. The length counts characters, not bytes. */
export function encodeRecord(tag: string, data: string): string {
  return tag + hexByte(data.length) + data
}
