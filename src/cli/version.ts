declare const SOFTSIM_VERSION: string

/** The version in package.json, inserted by the build. */
export const VERSION = SOFTSIM_VERSION
