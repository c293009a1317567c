/** What the names in a directory say of its profiles. What has come back has a number, and the highest one counts. */

const NAME = /^(__)?(\d+)[Ff]?(?:\.(\d+))?\.json$/

/** A profile in a directory. */
export interface Named {
  readonly iccid: string
  /** 1 where the name has none. */
  readonly number: number
  /** The names of its files with that number. */
  readonly unused: string | undefined
  readonly used: string | undefined
}

/** Undefined if it is not the name of a profile. */
export function parseName(name: string) {
  const [, mark, iccid, number = '1'] = NAME.exec(name) ?? []
  return iccid === undefined ? undefined : { iccid, number: Number(number), isUsed: mark !== undefined }
}

/** The profiles of a directory, by their ICCIDs. */
export function profilesIn(names: readonly string[]): Map<string, Named> {
  const found = new Map<string, Named>()
  for (const name of names) {
    const parsed = parseName(name)
    if (parsed === undefined) continue
    const { iccid, number, isUsed } = parsed
    const known = found.get(iccid)
    if (known !== undefined && known.number > number) continue
    const same = known?.number === number ? known : { unused: undefined, used: undefined }
    found.set(iccid, {
      iccid,
      number,
      unused: same.unused,
      used: same.used,
      [isUsed ? 'used' : 'unused']: name,
    })
  }
  return found
}
