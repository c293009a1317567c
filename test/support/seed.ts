import fc from 'fast-check'

/** A test run makes the same cases every time, here and in CI. */
const USUAL = 20_260_301

/** What fast-check makes its cases from: SEED replaces it, for long runs. It must be a whole number. */
export const seed = seedFrom(process.env['SEED'])

/** Whether the cases are others than usual. */
export const isOtherSeed = seed !== USUAL

function seedFrom(text: string | undefined): number {
  if (text === undefined || text === '') return USUAL
  if (!/^-?\d{1,15}$/.test(text)) throw new Error(`SEED is not a whole number: ${text}`)
  return Number(text)
}

// This module runs before each file of tests.
fc.configureGlobal({ seed })
