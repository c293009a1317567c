import { hostname } from 'node:os'

/** What used files, receipts and journals call this station. Several on one machine can have names of their own. */
export const stationName = (): string => process.env['SOFTSIM_STATION'] || hostname()

/** Who claimed a profile, and when (RFC 3339). */
export interface By {
  readonly station: string
  readonly time: string
  /** For how many profiles at once: that call gives them back if it comes short. */
  readonly panel?: number
}

/** This station, now. */
export const byUs = (): By => ({ station: stationName(), time: new Date().toISOString() })
