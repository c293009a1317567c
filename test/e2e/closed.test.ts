import { execFileSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import {
  directoryOf,
  namesIn,
  someProfiles,
  temporaryDirectory,
  unusedIn,
  usedIn,
} from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { failure } from '../support/promises.ts'
import { startSandbox } from '../support/sandbox.ts'
import { type Ended, softsim, startSoftsim } from '../support/softsim.ts'
import { hasFullDevice, hasPosix } from '../support/system.ts'

const { privateKeyPath: KEY } = inject('keys')

/** Linux opens a file only to name it: neither reading nor writing nor asking for its state works. */
const O_PATH = 0o10000000

const line = (directory: string) => ['next', '-k', KEY, '-i', directory]

/** The profile was claimed and went nowhere: standard error tells which, and where its file is. */
function expectNamed({ code, stdout, stderr }: Ended, directory: string): void {
  expect(code).toBe(9)
  expect(stdout).toBe('')
  expect(usedIn(directory)).toEqual([`__${iccid(1)}.json`])
  const [first] = stderr.split('\n')
  expect(first).toContain(iccid(1))
  expect(first).toMatch(/not delivered/)
  expect(stderr).toContain(`__${iccid(1)}.json`)
}

describe('a profile that was claimed and could not be printed is named', () => {
  test.skipIf(!hasFullDevice)('standard output is full', async () => {
    const directory = directoryOf(someProfiles(2))
    expectNamed(await softsim(line(directory), { shell: '"$@" > /dev/full' }), directory)
  })

  test('the reader has left', async () => {
    const directory = directoryOf(someProfiles(2))
    const { child, ended } = startSoftsim(line(directory))
    child.stdout?.destroy()
    expectNamed(await ended, directory)
  })

  test('and it can be had again by its ICCID', async () => {
    const directory = directoryOf(someProfiles(2))
    const { child, ended } = startSoftsim(line(directory))
    child.stdout?.destroy()
    await ended
    const { code, stdout } = await softsim([...line(directory), '--iccid', iccid(1), '--format=raw'])
    expect([code, JSON.parse(stdout).iccid]).toEqual([0, iccid(1)])
  })
})

describe('standard output is closed', () => {
  test.skipIf(!hasPosix)('next refuses before it claims anything', async () => {
    const directory = directoryOf(someProfiles(2))
    const { code, stdout, stderr } = await softsim(line(directory), { shell: '"$@" >&-' })
    expect([code, stdout]).toEqual([9, ''])
    expect(stderr).toMatch(/^softsim: error: standard output is closed/)
    expect([unusedIn(directory).length, usedIn(directory)]).toEqual([2, []])
  })

  test.skipIf(!hasPosix)('what it was about to take is still the next one', async () => {
    const directory = directoryOf(someProfiles(4))
    expect(await softsim([...line(directory), '-n', '2'], { shell: '"$@" >&-' })).toMatchObject({ code: 9 })
    const { stdout } = await softsim([...line(directory), '--format=raw'])
    expect(JSON.parse(stdout).iccid).toBe(iccid(1))
  })

  test('and what Node puts in its place: the null device, open for reading too', async () => {
    const directory = directoryOf(someProfiles(2))
    const stdout = openSync(devNull, 'r+')
    const run = await softsim(line(directory), { stdout })
    closeSync(stdout)
    expect(run).toMatchObject({
      code: 9,
      stderr: expect.stringMatching(/^softsim: error: standard output is closed/),
    })
    expect([unusedIn(directory).length, usedIn(directory)]).toEqual([2, []])
  })

  test.skipIf(!hasPosix)('/dev/null is not closed: it was asked for', async () => {
    const directory = directoryOf(someProfiles(2))
    expect(await softsim(line(directory), { shell: '"$@" > /dev/null' })).toMatchObject({ code: 0 })
    expect(usedIn(directory)).toHaveLength(1)
  })
})

describe('standard error', () => {
  test.skipIf(!hasPosix)('closed: the profile is printed all the same', async () => {
    const directory = directoryOf(someProfiles(2))
    const { code, stdout } = await softsim([...line(directory), '-v', '--format=raw'], { shell: '"$@" 2>&-' })
    expect([code, JSON.parse(stdout).iccid]).toEqual([0, iccid(1)])
  })

  test.skipIf(!hasFullDevice)('full: the profile is printed all the same', async () => {
    const directory = directoryOf(someProfiles(2))
    const { code, stdout } = await softsim([...line(directory), '-v'], { shell: '"$@" 2> /dev/full' })
    expect(code).toBe(0)
    expect(stdout).not.toBe('')
  })

  test.skipIf(process.platform !== 'linux')(
    'of a kind that Node can’t open: fetch stores all the same',
    async () => {
      const { fetch, directory } = await startSandbox()
      const path = join(temporaryDirectory(), 'pipe')
      execFileSync('mkfifo', [path])
      const stderr = openSync(path, O_PATH)
      expect(await fetch(['-n', '3'], { stderr })).toMatchObject({ code: 0, stdout: '' })
      closeSync(stderr)
      expect(namesIn(directory)).toHaveLength(3)
    },
  )
})

test.skipIf(!hasFullDevice)('help that cannot be printed is a failure too', async () => {
  for (const argv of [['help'], ['--version']]) {
    const run = await softsim(argv, { shell: '"$@" > /dev/full' })
    expect(run).toEqual(failure(9, /can't write to standard output: no space left on the disk \(ENOSPC\)/))
  }
})
