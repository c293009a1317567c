/** File systems and machines that answer oddly: strace puts into a call's way what others have met. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { whyNoTrace } from '../../scripts/torture/trace.ts'
import { newAnswerName } from '../../src/store/incoming/answers.ts'
import {
  directoryOf,
  namesIn,
  someProfiles,
  temporaryDirectory,
  unusedIn,
  usedIn,
} from '../support/directory.ts'
import { iccid, plainProfile, storedFile } from '../support/profiles.ts'
import { failure } from '../support/promises.ts'
import { startSandbox } from '../support/sandbox.ts'
import { softsim } from '../support/softsim.ts'
import { hasSymlinks } from '../support/system.ts'

const { privateKeyPath: KEY, publicKey } = inject('keys')
const nextOf = (directory: string) => ['next', '-k', KEY, '-i', directory]
const reason = whyNoTrace()

/** Makes system calls fail: all of these names, or those of them that are about one of the paths. */
function failing(calls: readonly string[], effect: string, ...paths: string[]): { shell: string } {
  const set = calls.map((name) => `?${name}`).join(',')
  const only = paths.map((path) => `-P '${path}'`).join(' ')
  const line = `strace -f -qq -o /dev/null ${only} -e 'trace=${set}' -e 'inject=${set}:${effect}'`
  return { shell: `exec ${line} "$@"` }
}

const LINK = ['link', 'linkat']
const RENAME = ['rename', 'renameat', 'renameat2']
const MKDIR = ['mkdir', 'mkdirat']
const OPEN = ['open', 'openat']
const STAT = ['stat', 'newfstatat', 'statx']

describe.skipIf(reason !== undefined)(`an unusual system${reason ? ` (skipped: ${reason})` : ''}`, () => {
  const ONE_WARNING = /^softsim: warning: this file system can't flush a directory: after a power cut, .*\n$/

  describe('a directory that can’t be flushed', () => {
    const noFlush = (directory: string, error = 'EINVAL') =>
      failing(['fsync'], `error=${error}`, directory, join(directory, '.incoming'))

    test.each([
      ['next', [], 1],
      ['next -n 3', ['-n', '3'], 3],
      ['next --iccid', ['--iccid', iccid(2)], 1],
    ])('%s: the profile is printed, with one warning', async (_, options, count) => {
      const directory = directoryOf(someProfiles(4))
      const { code, stdout, stderr } = await softsim([...nextOf(directory), ...options], noFlush(directory))
      expect(code).toBe(0)
      expect(stderr).toMatch(ONE_WARNING)
      expect(stdout.trim().split('\n')).toHaveLength(count)
      expect(usedIn(directory)).toHaveLength(count)
    })

    test.each([
      ['EIO', 'the disk reports an input/output error'],
      ['EDQUOT', 'the disk quota is exceeded'],
    ])('a disk error is still an error: %s', async (error, words) => {
      const directory = directoryOf(someProfiles(2))
      await softsim(nextOf(directory))
      const { code, stderr } = await softsim(nextOf(directory), noFlush(directory, error))
      expect([code, usedIn(directory).length]).toEqual([9, 2])
      expect(stderr).toContain(`claimed but not delivered: ${iccid(2)}`)
      expect(stderr).toContain(`: ${words} (${error})\n`)
    })

    test('a disk error in fetch is still an error, and no file is left behind', async () => {
      const { fetch, directory, requests } = await startSandbox()
      const { code, stderr } = await fetch([], noFlush(directory, 'EIO'))
      expect([code, requests, readdirSync(directory)]).toEqual([9, [], ['.incoming']])
      expect(stderr).toContain('the disk reports an input/output error (EIO)')
    })

    test('fetch: everything is stored, with one warning before the first request', async () => {
      const { fetch, directory, asked } = await startSandbox()
      const { code, stderr } = await fetch(['-n', '1001'], noFlush(directory))
      expect([code, asked().length > 1, unusedIn(directory).length]).toEqual([0, true, 1001])
      const [first = '', second] = stderr.split('\n')
      expect(`${first}\n`).toMatch(ONE_WARNING)
      expect(second).toMatch(/^softsim: stored 1001 profiles/)
    })

    test('a directory that can’t be opened is detected before the claim', async () => {
      const directory = directoryOf(someProfiles(2))
      // From now on a hint is there, and nobody reads the directory.
      expect(await softsim(nextOf(directory))).toMatchObject({ code: 0 })
      const used = usedIn(directory)
      const { code, stderr } = await softsim(nextOf(directory), failing(OPEN, 'error=EACCES', directory))
      expect([code, usedIn(directory)]).toEqual([9, used])
      expect(stderr).toMatch(/^softsim: error: can't read the directory .*: permission denied \(EACCES\)\n/)
    })
  })

  describe('a file that can’t be read is not damaged', () => {
    const ERRORS = [
      'EACCES',
      'EPERM',
      'EIO',
      'ESTALE',
      'ETIMEDOUT',
      'EHOSTDOWN',
      'EMFILE',
      'ENFILE',
      'EINVAL',
    ]
    const AGAIN = /.+, then run the same command again/

    test.each(ERRORS)('%s of one: the next one is taken; of all: exit code 9', async (error) => {
      const directory = directoryOf(someProfiles(2))
      const [first = '', second = ''] = namesIn(directory).map((name) => join(directory, name))
      const call = (args: string[], ...paths: string[]) =>
        softsim(args, failing(OPEN, `error=${error}`, ...paths))
      const all = await call(nextOf(directory), first, second)
      expect([all.code, all.stdout, all.stderr.split('\n').slice(0, -1)]).toEqual([
        9,
        '',
        [
          ...[1, 2].map((n) =>
            expect.stringMatching(
              `${iccid(n)}.json is skipped: it can't be read: (.* \\(${error}\\)|${error})$`,
            ),
          ),
          `softsim: error: 2 unused profiles in ${directory} can't be read`,
          expect.stringMatching(AGAIN),
        ],
      ])
      const status = ['status', '-i', directory, '-k', KEY, '--format=json']
      const checked = await call(status, first)
      expect([checked.code, JSON.parse(checked.stdout)]).toMatchObject([
        0,
        { usable: 1, unreadable: 1, damaged: 0 },
      ])
      expect(checked.stderr).toContain("warning: 1 file can't be read: leave them there")
      expect(await call(status, first, second)).toMatchObject({
        code: 9,
        stderr: expect.stringMatching(AGAIN),
      })
      expect(await call(nextOf(directory), first)).toMatchObject({ code: 0 })
      expect(usedIn(directory)).toEqual([`__${iccid(2)}.json`])
    })

    test.each(ERRORS)('%s of the used file or the record of a device', async (error) => {
      const directory = directoryOf(someProfiles(2))
      const again = [...nextOf(directory), '--device', 'SN-1']
      expect(await softsim(again)).toMatchObject({ code: 0 })
      const used = join(directory, `__${iccid(1)}.json`)
      const [record = ''] = readdirSync(join(directory, '.devices'))
      const failed = failure(9, /.+ can't be handed out: it can't be read: .+/, AGAIN)
      const call = (args: string[], path: string) => softsim(args, failing(OPEN, `error=${error}`, path))
      expect(await call(again, used)).toEqual(failed)
      expect(await call(again, join(directory, '.devices', record))).toEqual(failed)
      expect(await call([...nextOf(directory), '--iccid', iccid(1)], used)).toEqual(failed)
      expect(usedIn(directory)).toHaveLength(1)
    })
  })

  describe('fetch', () => {
    test.each(['EIO', 'EISDIR', 'EPERM'])(
      'hard links fail with %s: fetch works without them',
      async (error) => {
        const { fetch, directory } = await startSandbox()
        expect(await fetch(['-n', '3'], failing(LINK, `error=${error}`))).toMatchObject({ code: 0 })
        expect(namesIn(directory)).toHaveLength(3)
      },
    )

    test('a parent directory can’t be read', async () => {
      const { fetch, directory } = await startSandbox()
      expect(await fetch([], failing(OPEN, 'error=EACCES', dirname(directory)))).toMatchObject({ code: 0 })
      expect(statSync(directory).mode & 0o777).toBe(0o700)
    })

    test('a disk error while a profile gets its name is reported', async () => {
      const { fetch, fault } = await startSandbox()
      fault({ kind: 'replace', profiles: [{ iccid: iccid(1), profile: 'AAAA' }] })
      // The first one makes an answer of the reserve.
      const { code, stderr } = await fetch(['-n', '1'], failing(RENAME, 'error=EIO:when=2'))
      expect(code).toBe(9)
      expect(stderr).toContain('the disk reports an input/output error (EIO)')
    })

    test('the free space is unknown', async () => {
      const { fetch } = await startSandbox()
      expect(await fetch(['-n', '3'], failing(['statfs'], 'error=ENOSYS'))).toMatchObject({ code: 0 })
    })

    test('a read-only file system is reported, and no request is sent', async () => {
      const { fetch, directory, requests } = await startSandbox()
      mkdirSync(directory)
      const { code, stderr } = await fetch([], failing(MKDIR, 'error=EROFS', join(directory, '.incoming')))
      expect([code, requests]).toEqual([9, []])
      expect(stderr).toMatch(
        /^softsim: error: can't write to the directory .*: the file system is read-only \(EROFS\)\n/,
      )
    })

    test('a container allows 64 threads', async () => {
      const { fetch } = await startSandbox()
      expect(await fetch(['-n', '100'], failing(['clone', 'clone3'], 'error=EAGAIN:when=64+'))).toMatchObject(
        { code: 0 },
      )
    })
  })

  test('move to a read-only file system: the hint does not speak of space', async () => {
    const [source, target] = [directoryOf(someProfiles(1)), temporaryDirectory()]
    const incoming = failing(MKDIR, 'error=EROFS', join(target, '.incoming'))
    expect(await softsim(['move', '--all', '-i', source, '-o', target], incoming)).toEqual(
      failure(9, /.*: the file system is read-only \(EROFS\)/, /make the file system writable, or .* -o; .*/),
    )
  })

  test('next: what can’t be flushed is not claimed', async () => {
    const directory = directoryOf(someProfiles(1))
    const { code, stdout } = await softsim(nextOf(directory), failing(['fsync'], 'error=EIO'))
    expect([code, stdout, namesIn(directory)]).toEqual([9, '', [`${iccid(1)}.json`]])
  })

  test('next: if the rest of an interrupted fetch can’t be stored, this is reported and a profile is printed', async () => {
    const directory = directoryOf(someProfiles(1))
    const aside = join(
      directory,
      '.incoming',
      `${newAnswerName().replace(`~${process.pid}~`, '~4194999~')}.answer`,
    )
    mkdirSync(dirname(aside))
    writeFileSync(aside, `${storedFile(plainProfile(2), publicKey)}\n`)
    const { code, stdout, stderr } = await softsim(
      nextOf(directory),
      failing(['unlink', 'unlinkat'], 'error=EIO', aside),
    )
    expect([code, stdout.length > 0, usedIn(directory)]).toEqual([0, true, [`__${iccid(1)}.json`]])
    expect(stderr).toMatch(
      /^softsim: warning: profiles that an interrupted call received can't be stored: .*\(EIO\)\n$/,
    )
  })

  test('next: there is no /dev/null', async () => {
    const directory = directoryOf(someProfiles(1))
    const missing = failing(STAT, 'error=ENOENT', '/dev/null')
    expect(await softsim(nextOf(directory), missing)).toMatchObject({ code: 0, stderr: '' })
  })
})

/** Root can put a file in the place of the device, for one process and those it starts. */
const canMount = spawnSync('unshare', ['--mount', 'mount', '--bind', '/dev/zero', '/dev/null']).status === 0

test.skipIf(!canMount)(
  'next: /dev/null is a regular file, because somebody removed it and then wrote to it',
  async () => {
    const directory = directoryOf(someProfiles(1))
    const [file, out] = ['null', 'out'].map((name) => join(temporaryDirectory(), name)) as [string, string]
    writeFileSync(file, '')
    const shell = `exec 1<>'${out}'; exec unshare --mount sh -c 'mount --bind "$0" /dev/null && exec "$@"' '${file}' "$@"`
    expect(await softsim(nextOf(directory), { shell })).toMatchObject({ code: 0, stderr: '' })
    expect(readFileSync(out, 'utf8')).not.toBe('')
  },
)

test.skipIf(!hasSymlinks)('fetch into a link to a directory', async () => {
  const { fetch, directory } = await startSandbox()
  const real = temporaryDirectory()
  symlinkSync(real, directory, 'dir')
  expect(await fetch(['-n', '2'])).toMatchObject({ code: 0 })
  expect(unusedIn(real)).toHaveLength(2)
})
