import { hostname } from 'node:os'

/** What used files, receipts and journals call this station. Several on one machine can have names of their own. */
export const stationName = (): string => process.env['SOFTSIM_STATION'] || hostname()
