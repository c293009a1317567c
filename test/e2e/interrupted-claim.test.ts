/** Claims that stop between their two steps: their call was killed there, or the file can't be renamed. */
import { utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { start } from '../../scripts/torture/program.ts'
import { type Injection, traced, whyNoTrace } from '../../scripts/torture/trace.ts'
import { directoryOf, namesIn, someProfiles, usedIn } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { lines } from '../support/promises.ts'
import { softsim } from '../support/softsim.ts'

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

/** A directory in which a call was killed amid its claim of the first profile, so many minutes ago. */
function halfClaimed(profiles: number, minutesAgo: number): string {
  const directory = directoryOf(someProfiles(profiles))
  const used = join(directory, `__${iccid(1)}.json`)
  writeFileSync(used, '')
  const then = new Date(Date.now() - minutesAgo * 60_000)
  utimesSync(used, then, then)
  return directory
}

describe('a call was killed during its claim', () => {
  test.each([
    ['', 2],
    [', also if its time is of a clock that is ahead', -2],
  ])('the profile counts as used; the next call reports it once%s', async (_, minutesAgo) => {
    const directory = halfClaimed(3, minutesAgo)
    const first = await softsim(line(directory))
    expect([first.code, iccidsIn(first.stdout)]).toEqual([0, [iccid(2)]])
    expect(lines(first.stderr)).toEqual([
      expect.stringMatching(RegExp(`^softsim: warning: ${iccid(1)} is marked used but was not printed: .*`)),
    ])
    const second = await softsim(line(directory))
    expect([second.code, iccidsIn(second.stdout), second.stderr]).toEqual([0, [iccid(3)], ''])
    expect(await softsim(line(directory))).toMatchObject({ code: 3, stdout: '' })
    expect(namesIn(directory)).toEqual([1, 2, 3].map((n) => `__${iccid(n)}.json`))
  })

  test.each([0, 2])('--iccid prints it, %d minutes later', async (minutes) => {
    const directory = halfClaimed(2, minutes)
    const { code, stdout, stderr } = await softsim(line(directory, '--iccid', iccid(1)))
    expect([code, iccidsIn(stdout)]).toEqual([0, [iccid(1)]])
    expect(stderr).toMatch(/^softsim: warning: .*\n$/)
    expect(usedIn(directory)).toEqual([`__${iccid(1)}.json`])
  })

  test('a claim that may still be running is left alone', async () => {
    const directory = halfClaimed(1, 0)
    expect(await softsim(line(directory))).toMatchObject({ code: 3, stdout: '' })
    expect(namesIn(directory)).toHaveLength(2)
  })
})

const reason = whyNoTrace()

/** ARM has only the later ones. */
const RENAME = ['rename', 'renameat', 'renameat2']

describe.skipIf(reason !== undefined)(
  `another program has a file open${reason ? ` (skipped: ${reason})` : ''}`,
  () => {
    const nextWith = (directory: string, when: Injection['when'], error: string, ...more: string[]) => {
      const injection = { syscall: RENAME.join(','), when, effect: `error=${error}` } as const
      const under = traced('/dev/null', injection, RENAME)
      return start(line(directory, ...more), { under }).ended
    }

    // The first rename of a call is that of the hint.
    test.each(['EBUSY', 'EPERM', 'EACCES'])(
      '%s: the file is skipped, and the next one is taken',
      async (error) => {
        const directory = directoryOf(someProfiles(3))
        const { code, stdout, stderr } = await nextWith(directory, 2, error)
        expect([code, iccidsIn(stdout)]).toEqual([0, [iccid(2)]])
        expect(lines(stderr)).toEqual([
          expect.stringMatching(RegExp(`^softsim: warning: ${iccid(1)}\\.json .*${error}`)),
        ])
        expect(usedIn(directory)).toEqual([`__${iccid(2)}.json`])
      },
    )

    test('a panel is filled without that file', async () => {
      const directory = directoryOf(someProfiles(4))
      const { code, stdout } = await nextWith(directory, 3, 'EBUSY', '-n', '3')
      expect([code, iccidsIn(stdout).sort()]).toEqual([0, [1, 3, 4].map((n) => iccid(n))])
      expect(usedIn(directory)).toHaveLength(3)
    })

    test('--iccid says so', async () => {
      const directory = directoryOf(someProfiles(2))
      const { code, stdout, stderr } = await nextWith(directory, 1, 'EBUSY', '--iccid', iccid(1))
      expect([code, stdout]).toEqual([9, ''])
      expect(stderr).toMatch(RegExp(`^softsim: error: ${iccid(1)}\\.json can't be handed out: .*EBUSY`))
      expect(usedIn(directory)).toEqual([])
    })

    test('the file disappears during the claim: this is reported, because this call may have renamed it', async () => {
      const directory = directoryOf(someProfiles(2))
      const { code, stdout, stderr } = await nextWith(directory, 2, 'ENOENT')
      expect([code, iccidsIn(stdout)]).toEqual([0, [iccid(2)]])
      expect(stderr).toMatch(RegExp(`^softsim: warning: ${iccid(1)}\\.json .*not claimed by this call\\n$`))
    })

    test('any number of such files is skipped if they are not in a row', async () => {
      // A claim that fails is released by another rename.
      const directory = directoryOf(someProfiles(12))
      const { code, stdout, stderr } = await nextWith(directory, '2+3', 'EBUSY', '-n', '6')
      expect([code, lines(stdout).length, lines(stderr).length]).toEqual([0, 6, 6])
      expect(usedIn(directory)).toHaveLength(6)
    })

    test('a claim that is complete when another one fails is named', async () => {
      const directory = directoryOf(someProfiles(3))
      // The claim of the second fails. That of the first is complete, and that of the third has only begun.
      const { code, stdout, stderr } = await nextWith(directory, '3+', 'EIO', '-n', '3')
      expect([code, stdout]).toEqual([9, ''])
      expect(stderr).toContain(`softsim: error: claimed but not delivered: ${iccid(1)} (`)
      expect(usedIn(directory)).toEqual([`__${iccid(1)}.json`])
    })

    test('every file: the directory is the cause, and nothing stays claimed', async () => {
      const directory = directoryOf(someProfiles(8))
      const { code, stdout, stderr } = await nextWith(directory, '2+', 'EPERM')
      expect([code, stdout]).toEqual([9, ''])
      expect(stderr).toMatch(/^softsim: error: 5 profiles in a row can't be claimed/)
      expect(namesIn(directory)).toEqual(someProfiles(8).map((each) => `${each.iccid}.json`))
    })
  },
)
