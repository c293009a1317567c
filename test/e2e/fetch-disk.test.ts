import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { addProfile, namesIn, temporaryDirectory, usedIn } from '../support/directory.ts'
import { iccid, plainProfile } from '../support/profiles.ts'
import { failure } from '../support/promises.ts'
import { startSandbox } from '../support/sandbox.ts'
import { softsim } from '../support/softsim.ts'
import { hasPosix, isRunByNode } from '../support/system.ts'

const { privateKeyPath: KEY } = inject('keys')

/** A file system that says that it is full; the Node that runs the program is spoilt for that. */
function fullFileSystem(): Record<string, string> {
  const spoiler = join(temporaryDirectory(), 'spoiler.cjs')
  const says = { bsize: 4096, blocks: 100_000, bfree: 10, bavail: 10, files: 100_000, ffree: 90_000 }
  writeFileSync(spoiler, `require('node:fs').statfsSync = () => (${JSON.stringify(says)})\n`)
  return { NODE_OPTIONS: `--require=${JSON.stringify(spoiler)}` }
}

test.skipIf(!isRunByNode)('no room: nothing is asked for', async () => {
  const { fetch, requests, directory } = await startSandbox()
  const run = await fetch(['-n', '1000'], { env: fullFileSystem() })
  expect(run).toEqual(failure(9, /there is no room for 1000 more profiles in .+/, /make room, .*/))
  expect([requests, namesIn(directory)]).toEqual([[], []])
})

/** Blocks of 512 bytes that a file may have: an answer of ten profiles has more, and a profile alone fewer. */
const SOME_BLOCKS = 8

test.skipIf(!hasPosix)(
  'an answer that can be put aside only in part: each profile is told to be lost, and is',
  async () => {
    const { fetch, allocated, directory } = await startSandbox()
    mkdirSync(directory, { mode: 0o700 })
    addProfile(directory, plainProfile(1))
    const run = await fetch(['-n', '10'], { shell: `ulimit -f ${SOME_BLOCKS} && exec "$@"` })
    expect(run).toMatchObject({ code: 9, stdout: '' })
    expect(allocated.size).toBe(10)
    for (const each of allocated.keys()) expect(run.stderr).toContain(each)
    expect(run.stderr).toMatch(/^softsim: received and can't be stored: .+$/m)
    // Somebody may have asked the service for them: they must not turn up later.
    expect(await softsim(['next', '-k', KEY, '-i', directory])).toMatchObject({ code: 0, stderr: '' })
    expect([namesIn(directory), usedIn(directory)]).toEqual([[`__${iccid(1)}.json`], [`__${iccid(1)}.json`]])
  },
)
