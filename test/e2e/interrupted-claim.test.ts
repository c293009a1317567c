/** Claims that stop between their steps: a call of version 1.1 was killed, another one is faster, or the disk fails. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { start } from '../../scripts/torture/program.ts'
import { type Injection, traced, whyNoTrace } from '../../scripts/torture/trace.ts'
import {
  directoryOf,
  namesIn,
  someProfiles,
  temporaryDirectory,
  unusedIn,
  usedIn,
} from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { lines } from '../support/promises.ts'
import { softsim, until } from '../support/softsim.ts'

const { privateKeyPath: KEY } = inject('keys')
const line = (directory: string, ...more: string[]) => [
  'next',
  '-k',
  KEY,
  '-i',
  directory,
  '--format=raw',
  ...more,
]
const iccidsIn = (stdout: string) => lines(stdout).map((each) => JSON.parse(each).iccid)

test('a half claim of version 1.1 is set aside: whoever reads the directory names it, and --iccid prints it', async () => {
  const directory = directoryOf(someProfiles(3))
  const used = `__${iccid(1)}.json`
  writeFileSync(join(directory, used), '')
  const aside = RegExp(
    `^softsim: warning: ${iccid(1)} is set aside: .*; use --iccid ${iccid(1)} to print it\n`,
  )
  const first = await softsim(line(directory))
  expect([first.code, iccidsIn(first.stdout), first.stderr]).toEqual([
    0,
    [iccid(2)],
    expect.stringMatching(aside),
  ])
  // The hint spares this call the directory.
  const second = await softsim(line(directory))
  expect([second.code, iccidsIn(second.stdout), second.stderr]).toEqual([0, [iccid(3)], ''])
  expect(await softsim(line(directory))).toMatchObject({
    code: 3,
    stdout: '',
    stderr: expect.stringMatching(aside),
  })
  for (const words of ['was set aside', 'was handed out before']) {
    const { code, stdout, stderr } = await softsim(line(directory, '--iccid', iccid(1)))
    expect([code, iccidsIn(stdout)]).toEqual([0, [iccid(1)]])
    expect(stderr).toMatch(RegExp(`^softsim: warning: ${iccid(1)} ${words}.*\n$`))
  }
  expect(await softsim(line(directory))).toMatchObject({ code: 3, stdout: '' })
  expect(namesIn(directory)).toEqual([`__${iccid(1)}.2.json`, ...[1, 2, 3].map((n) => `__${iccid(n)}.json`)])
})

const reason = whyNoTrace()

/** ARM has only the later ones. */
const RENAME = ['rename', 'renameat', 'renameat2']
const MKDIR = ['mkdir', 'mkdirat']
const UNLINK = ['unlink', 'unlinkat']

describe.skipIf(reason !== undefined)(`amid a claim${reason ? ` (skipped: ${reason})` : ''}`, () => {
  const startWith = (
    directory: string,
    syscalls: readonly string[],
    rest: Omit<Injection, 'syscall'>,
    ...more: string[]
  ) => {
    const log = join(temporaryDirectory(), 'trace')
    const under = traced(log, { syscall: syscalls.join(','), ...rest }, syscalls)
    return { log, ...start(line(directory, ...more), { under }) }
  }

  test('another call gets one of a panel: what is too little comes back, and the next call prints it', async () => {
    const directory = directoryOf(someProfiles(2))
    const stop = { when: 1, effect: 'signal=SIGSTOP' } as const
    const panel = startWith(directory, MKDIR, stop, '-n', '2')
    await until(() => existsSync(panel.log) && readFileSync(panel.log, 'utf8').includes('stopped by SIGSTOP'))
    expect(await softsim(line(directory, '--iccid', iccid(2)))).toMatchObject({ code: 0 })
    panel.signal('SIGCONT')
    expect(await panel.ended).toMatchObject({ code: 3, stdout: '' })
    expect(unusedIn(directory)).toEqual([`${iccid(1)}.2.json`])
    const { code, stdout } = await softsim(line(directory))
    expect([code, iccidsIn(stdout)]).toEqual([0, [iccid(1)]])
    expect(usedIn(directory)).toEqual([`__${iccid(1)}.2.json`, ...[1, 2].map((n) => `__${iccid(n)}.json`)])
  })

  // The first two renames of a call are those of the hint and of the identity of the directory.
  test.each([
    ['EBUSY, once: it is tried again', RENAME, { when: 3, effect: 'error=EBUSY' }, 0],
    ['the unused file can’t be removed: the profile is named', UNLINK, { when: 1, effect: 'error=EBUSY' }, 9],
    ['the used file does not come: the profile is named', RENAME, { when: 4, effect: 'error=EIO' }, 9],
  ] as const)('%s', async (_, syscalls, rest, wanted) => {
    const directory = directoryOf(someProfiles(2))
    const { code, stdout, stderr } = await startWith(directory, syscalls, rest).ended
    expect([code, iccidsIn(stdout)]).toEqual([wanted, wanted === 0 ? [iccid(1)] : []])
    expect(stderr.includes(`claimed but not delivered: ${iccid(1)} (`)).toBe(wanted !== 0)
    const next = await softsim(line(directory))
    expect([next.code, iccidsIn(next.stdout)]).toEqual([0, [iccid(2)]])
    const again = await softsim(line(directory, '--iccid', iccid(1)))
    expect([again.code, iccidsIn(again.stdout)]).toEqual([0, [iccid(1)]])
  })

  test('a claim that is complete when another one fails is named', async () => {
    const directory = directoryOf(someProfiles(3))
    const rest = { when: '6+', effect: 'error=EIO' } as const
    const { code, stdout, stderr } = await startWith(directory, RENAME, rest, '-n', '3').ended
    expect([code, stdout]).toEqual([9, ''])
    expect(stderr).toContain(`softsim: error: claimed but not delivered: ${iccid(1)} (`)
    const again = await softsim(line(directory, '--iccid', iccid(1)))
    expect([again.code, iccidsIn(again.stdout)]).toEqual([0, [iccid(1)]])
  })

  test('every file: the directory is the cause, and nothing stays claimed', async () => {
    const directory = directoryOf(someProfiles(8))
    const rest = { when: '3+', effect: 'error=EPERM' } as const
    const { code, stdout, stderr } = await startWith(directory, RENAME, rest).ended
    expect([code, stdout]).toEqual([9, ''])
    expect(stderr).toMatch(/^softsim: error: 5 profiles in a row can't be claimed/)
    expect(namesIn(directory)).toEqual(someProfiles(8).map((each) => `${each.iccid}.json`))
  })
})
