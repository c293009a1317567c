import fc from 'fast-check'
import '../support/after-file.ts'
import { expect, inject, test } from 'vitest'
import { temporaryDirectory } from '../support/directory.ts'
import { anyKey, echoOf, piecesIn } from '../support/escapes.ts'
import { fetchHere } from '../support/here.ts'
import { startSandbox } from '../support/sandbox.ts'
import { seed } from '../support/seed.ts'

const KEYS = 50
const ECHOES_A_KEY = 10
/** No piece of a key of this length may be seen. */
const PIECE = 6

const { publicKey } = inject('keys')

/** Each is a key, and what a service makes of it. The first echo is behind some text, and cut off there or not. */
const cases = fc
  .sample(
    anyKey.chain((key) =>
      fc.record({
        key: fc.constant(key),
        echoes: fc.array(echoOf(key), { minLength: ECHOES_A_KEY, maxLength: ECHOES_A_KEY }),
        before: fc.nat(220),
      }),
    ),
    { seed, numRuns: KEYS },
  )
  .map((each, at) => ({ ...each, at: at + 1 }))

test.concurrent.each(cases)(
  'key $at, in mixed escapes: no piece is printed',
  async ({ key, echoes, before }) => {
    const { url, fault } = await startSandbox({ apiKeys: [{ key, kind: 'softsim', publicKey }] })
    const [first, ...others] = echoes
    const body = `${'.'.repeat(before)}${first}`
    const headers = Object.fromEntries(others.map((echo, at) => [`x-echo-${at}`, echo]))
    fault({ kind: 'status', status: 400, body, headers })
    const directory = temporaryDirectory()
    const { code, stderr } = await fetchHere({ url, apiKey: key, directory, verbosity: 3 })
    expect(code).toBe(7)
    for (const at of others.keys()) expect(stderr).toContain(`"x-echo-${at}":"***"`)
    expect(piecesIn(stderr, key, PIECE), key).toEqual([])
  },
)
