/** At most 20 digits (ITU-T E.118); a filler F may end them (TS 102 221 13.2). */
const ICCID = /^(\d{1,20})[Ff]?$/

/** The digits of an ICCID without its filler, or undefined where the text is no ICCID. */
export function iccidDigits(text: string): string | undefined {
  return ICCID.exec(text)?.[1]
}
