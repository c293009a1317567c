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
import { type Ended, failure } from '../support/promises.ts'
import { startSandbox } from '../support/sandbox.ts'
import { softsim, startSoftsim } from '../support/softsim.ts'
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

describe('a profile that was claimed but could not be printed is named', () => {
  test.skipIf(!hasFullDevice)('standard output is full', async () => {
    const directory = directoryOf(someProfiles(2))
    expectNamed(await softsim(line(directory), { shell: '"$@" > /dev/full' }), directory)
  })

  test('the reader has closed the pipe', async () => {
    const directory = directoryOf(someProfiles(2))
    const { child, ended } = startSoftsim(line(directory))
    child.stdout?.destroy()
    expectNamed(await ended, directory)
  })

  test('--iccid prints it again', async () => {
    const directory = directoryOf(someProfiles(2))
    const { child, ended } = startSoftsim(line(directory))
    child.stdout?.destroy()
    await ended
    const { code, stdout } = await softsim([...line(directory), '--iccid', iccid(1), '--format=raw'])
    expect([code, JSON.parse(stdout).iccid]).toEqual([0, iccid(1)])
  })
})

describe('standard output is closed', () => {
  test.skipIf(!hasPosix)('next fails before it claims anything', async () => {
    const directory = directoryOf(someProfiles(2))
    const { code, stdout, stderr } = await softsim(line(directory), { shell: '"$@" >&-' })
    expect([code, stdout]).toEqual([9, ''])
    expect(stderr).toMatch(/^softsim: error: standard output is closed/)
    expect([unusedIn(directory).length, usedIn(directory)]).toEqual([2, []])
  })

  test.skipIf(!hasPosix)('a used profile is not printed again', async () => {
    const directory = directoryOf(someProfiles(1))
    await softsim(line(directory))
    const { code, stderr } = await softsim([...line(directory), '--iccid', iccid(1)], { shell: '"$@" >&-' })
    expect(code).toBe(9)
    expect(stderr).toMatch(/^softsim: error: standard output is closed/)
  })

  test.skipIf(!hasPosix)('the next call gets the same profile', async () => {
    const directory = directoryOf(someProfiles(4))
    expect(await softsim([...line(directory), '-n', '2'], { shell: '"$@" >&-' })).toMatchObject({ code: 9 })
    const { stdout } = await softsim([...line(directory), '--format=raw'])
    expect(JSON.parse(stdout).iccid).toBe(iccid(1))
  })

  test('the null device opened for reading too, which is what Node substitutes', async () => {
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

  test.skipIf(!hasPosix)('output to /dev/null is allowed', async () => {
    const directory = directoryOf(someProfiles(2))
    expect(await softsim(line(directory), { shell: '"$@" > /dev/null' })).toMatchObject({ code: 0 })
    expect(usedIn(directory)).toHaveLength(1)
  })
})

describe('standard error', () => {
  test.skipIf(!hasPosix)('closed: the profile is still printed', async () => {
    const directory = directoryOf(someProfiles(2))
    const { code, stdout } = await softsim([...line(directory), '-v', '--format=raw'], { shell: '"$@" 2>&-' })
    expect([code, JSON.parse(stdout).iccid]).toEqual([0, iccid(1)])
  })

  test.skipIf(!hasFullDevice)('full: the profile is still printed', async () => {
    const directory = directoryOf(someProfiles(2))
    const { code, stdout } = await softsim([...line(directory), '-v'], { shell: '"$@" 2> /dev/full' })
    expect(code).toBe(0)
    expect(stdout).not.toBe('')
  })

  test.skipIf(process.platform !== 'linux')(
    'of a kind that Node can’t open: fetch still stores the profiles',
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

test.skipIf(!hasFullDevice)('a failure to print the help is reported', async () => {
  for (const argv of [['help'], ['--version']]) {
    const run = await softsim(argv, { shell: '"$@" > /dev/full' })
    expect(run).toEqual(failure(9, /can't write to standard output: no space left on the disk \(ENOSPC\)/))
  }
})
