/** A number of things in words: `1 profile`, `2 profiles`. */
export const several = (count: number, thing: string) => `${count} ${thing}${count === 1 ? '' : 's'}`

/** A word as a shell takes it, quoted where it must be. */
export const quote = (word: string) =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
