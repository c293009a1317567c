/** The same as test/lookalikes.test.ts, as processes: what is printed is what was asked for. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/directory.ts'
import { knownLine } from '../support/lookalikes.ts'
import { softsim } from '../support/softsim.ts'

// A fetch that is not asked for its help would go to the network.
const LINES = fc
  .sample(knownLine, { numRuns: 60, seed: 10 })
  .filter(({ command, asks, prints }) => command !== 'fetch' || asks || prints)

test.concurrent.each(LINES)('$argv', async ({ argv, prints }) => {
  const { code, stdout } = await softsim(argv, { cwd: temporaryDirectory() })
  if (prints) expect([code, stdout]).toEqual([0, expect.stringMatching(/^(softsim |\d+\.\d+\.\d+\n$)/)])
  else expect([code === 0, stdout]).toEqual([false, ''])
})
