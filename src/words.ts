/** A number of things in words: `1 profile`, `2 profiles`. */
export const several = (count: number, thing: string) => `${count} ${thing}${count === 1 ? '' : 's'}`
