/** At most 20 digits (ITU-T E.118), optionally followed by a filler F (TS 102 221 13.2). */
const ICCID = /^(\d{1,20})[Ff]?$/

/** @returns the digits of an ICCID without its filler, or undefined if the text is not an ICCID */
export function iccidDigits(text: string): string | undefined {
  return ICCID.exec(text)?.[1]
}
