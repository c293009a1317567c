/** 18 to 20 digits (ITU-T E.118), with or without a filler F (TS 102 221 13.2); a part of a regular expression. */
export const ICCID = String.raw`(\d{18,20})[Ff]?`

const ALONE = RegExp(`^${ICCID}$`)

/** Returns the 18 to 20 digits of an ICCID without its filler, or undefined if the text is no ICCID. */
export const iccidDigits = (text: string): string | undefined => ALONE.exec(text)?.[1]
