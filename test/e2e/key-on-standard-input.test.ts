/** A private key that comes in parts, in a standard input that does not block; any other way is in transcripts/key-on-standard-input.txt. */
import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { expect, inject, test } from 'vitest'
import { directoryOf, someProfiles } from '../support/directory.ts'
import { makePipe } from '../support/pipe.ts'
import { lines } from '../support/promises.ts'
import { startSoftsim, until } from '../support/softsim.ts'
import { hasProc, readsOf } from '../support/system.ts'

const { privateKey } = inject('keys')

/** So many reads are more than a call makes where the key is there. */
const ATTEMPTS = 400

test.skipIf(!hasProc).each([0, 1000])(
  'a standard input that does not block is waited for, after %i bytes',
  async (first) => {
    const pipe = makePipe()
    const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
    const writer = openSync(pipe, constants.O_WRONLY)
    const argv = ['next', '-k', '-', '-i', directoryOf(someProfiles(1))]
    const { child, ended } = startSoftsim(argv, { shell: 'exec "$@" <&3 3>&-', descriptor: reader })
    closeSync(reader)
    const key = Buffer.from(privateKey)
    if (first > 0) writeSync(writer, key.subarray(0, first))
    await until(() => child.exitCode !== null || readsOf(child.pid ?? 0) > ATTEMPTS)
    writeSync(writer, key.subarray(first))
    closeSync(writer)
    const { code, stdout, stderr } = await ended
    expect([code, lines(stdout).length, stderr]).toEqual([0, 1, ''])
  },
)
