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
