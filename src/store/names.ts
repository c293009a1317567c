const USED = '__'

/** The name a profile's file has while it is unused. */
export const fileName = (iccid: string) => `${iccid}.json`

/** The name it gets when it is claimed. */
export const usedName = (name: string) => USED + name

/**
 * Whether a name is one the profile directory's rules speak of: it ends in `.json` and begins neither with a dot
 * nor with `profiles`.
 */
export function isProfileName(name: string): boolean {
  return name.endsWith('.json') && !name.startsWith('.') && !name.startsWith('profiles')
}

/** The unused profiles among the names of a directory, lowest first; one whose used twin is there counts as used. */
export function unusedNames(names: readonly string[]): string[] {
  const profiles = names.filter(isProfileName)
  const used = new Set(profiles.filter((name) => name.startsWith(USED)))
  return profiles.filter((name) => !name.startsWith(USED) && !used.has(usedName(name))).sort()
}
