import { closeSync, constants, openSync, readdirSync, readlinkSync, writeSync } from 'node:fs'
import { describe, expect, inject, test } from 'vitest'
import { directoryOf, someProfiles, usedIn } from '../support/directory.ts'
import { makePipe } from '../support/pipe.ts'
import { hasProc, readsOf } from '../support/process.ts'
import { failure, lines } from '../support/promises.ts'
import { softsim, startSoftsim, until } from '../support/softsim.ts'
import { hasPosix, isRunByNode } from '../support/system.ts'

const { privateKey, publicKey, privateKeyPath } = inject('keys')

/** So many reads are more than a call makes where the key is there. */
const ATTEMPTS = 400

test('-k - reads the key from standard input, as from a file', async () => {
  const profiles = someProfiles(1)
  const fromFile = await softsim(['next', '-k', privateKeyPath, '-i', directoryOf(profiles)])
  for (const option of [['-k', '-'], ['-k-'], ['--key=-']]) {
    const directory = directoryOf(profiles)
    expect(await softsim(['next', ...option, '-i', directory], { stdin: privateKey })).toEqual(fromFile)
    expect(usedIn(directory)).toHaveLength(1)
  }
})

test('status -k - too', async () => {
  const argv = ['status', '-k', '-', '-i', directoryOf(someProfiles(2)), '--format=json']
  const { stdout } = await softsim(argv, { stdin: privateKey })
  expect(JSON.parse(stdout)).toMatchObject({ checked: 2, usable: 2 })
})

test.skipIf(!hasPosix)('nothing from a command: the hint is about this command', async () => {
  for (const path of ['-', '/dev/stdin']) {
    const argv = ['next', '-k', path, '-i', directoryOf(someProfiles(1))]
    expect(await softsim(argv, { shell: ': | "$@"' })).toEqual(
      failure(4, /.+ is empty/, /the command that prints the key has printed nothing: .+/),
    )
  }
})

test.each([
  ['nothing', '', /standard input is empty/],
  ['no key', 'hello\n', /standard input is not a readable private key .*/],
  ['the public key', publicKey, /standard input is a public key; .*/],
])('%s on standard input is refused, and nothing is claimed', async (_, stdin, why) => {
  const directory = directoryOf(someProfiles(1))
  expect(await softsim(['next', '-k', '-', '-i', directory], { stdin })).toEqual(failure(4, why, /.+/))
  expect(usedIn(directory)).toEqual([])
})

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

test.skipIf(!hasProc || isRunByNode)(
  'SIGUSR1 opens no debugger in an executable, which goes on',
  async () => {
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
  },
)
