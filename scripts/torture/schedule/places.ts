/** The directory of profiles on the disk of a schedule. */
export const LOT = '/disk/profiles'

/** Where its unused profiles are moved to. */
export const OTHER = '/disk/other'

export const RECEIPTS = '/receipt'
