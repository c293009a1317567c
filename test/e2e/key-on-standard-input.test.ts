/** A private key that does not come at once; what comes at once is in transcripts/key-on-standard-input.txt. */
import { closeSync, constants, openSync, readdirSync, readlinkSync, writeSync } from 'node:fs'
import { describe, expect, inject, test } from 'vitest'
import { directoryOf, someProfiles, usedIn } from '../support/directory.ts'
import { makePipe } from '../support/pipe.ts'
import { lines } from '../support/promises.ts'
import { startSoftsim, until } from '../support/softsim.ts'
import { hasProc, isRunByNode, readsOf } from '../support/system.ts'

const { privateKey } = inject('keys')

/** So many reads are more than a call makes where the key is there. */
const ATTEMPTS = 400

test.skipIf(!hasProc)('a standard input that does not block is waited for', async () => {
  const pipe = makePipe()
  const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = openSync(pipe, constants.O_WRONLY)
  const argv = ['next', '-k', '-', '-i', directoryOf(someProfiles(1))]
  const { child, ended } = startSoftsim(argv, { shell: 'exec "$@" <&3 3>&-', descriptor: reader })
  closeSync(reader)
  const key = Buffer.from(privateKey)
  writeSync(writer, key.subarray(0, 1000))
  await until(() => child.exitCode !== null || readsOf(child.pid ?? 0) > ATTEMPTS)
  writeSync(writer, key.subarray(1000))
  closeSync(writer)
  const { code, stdout, stderr } = await ended
  expect([code, lines(stdout).length, stderr]).toEqual([0, 1, ''])
})

function isOpen(path: string, pid: number): boolean {
  return readdirSync(`/proc/${pid}/fd`).some((each) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${each}`) === path
    } catch {
      return false
    }
  })
}

describe.skipIf(!hasProc)('a signal ends a call that waits for its key', () => {
  test.each(
    ['next', 'status'].flatMap((name) =>
      (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((signal) => [name, signal] as const),
    ),
  )('%s, %s', async (name, signal) => {
    const pipe = makePipe()
    const writer = openSync(pipe, constants.O_RDWR)
    const directory = directoryOf(someProfiles(1))
    const { child, ended } = startSoftsim([name, '-k', pipe, '-i', directory])
    await until(() => isOpen(pipe, child.pid ?? 0))
    child.kill(signal)
    expect(await ended).toMatchObject({ code: null, signal, stdout: '' })
    closeSync(writer)
    expect(usedIn(directory)).toEqual([])
  })
})

test.skipIf(!hasProc || isRunByNode)('SIGUSR1 opens no debugger in an executable: it goes on', async () => {
  const pipe = makePipe()
  const writer = openSync(pipe, constants.O_RDWR)
  const { child, ended } = startSoftsim(['next', '-k', pipe, '-i', directoryOf(someProfiles(1))])
  await until(() => isOpen(pipe, child.pid ?? 0))
  child.kill('SIGUSR1')
  writeSync(writer, privateKey)
  closeSync(writer)
  const { code, stdout, stderr } = await ended
  const waiting = `softsim: waiting for the private key, from a program that writes it to the pipe ${pipe}\n`
  expect([code, lines(stdout).length, stderr]).toEqual([0, 1, waiting])
})
