/** The directory of profiles on the disk of a schedule. */
export const LOT = '/disk/profiles'

/** Where `softsim move` moves profiles to, and from there. */
export const STICK = '/stick/profiles'
export const THIRD = '/third/profiles'

/** Where tools move its unused profiles to. */
export const OTHER = '/disk/other'

export const RECEIPTS = '/receipt'

/** What calls before the schedule wrote, of which the directory comes from a backup. */
export const EARLIER = '/receipt/earlier'

/** The directories that a move can be between. */
export const LOTS = [LOT, STICK, THIRD]

/** They are there from the beginning to the end. */
export const STAY = [...LOTS, '/', '/disk', '/stick', '/third']
