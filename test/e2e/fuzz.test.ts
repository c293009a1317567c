/** What a user may type, and what may be in a directory, whatever it is. */
import fc from 'fast-check'
import '../support/seed.ts'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { answer, anyText } from '../support/arbitrary.ts'
import { directoryOf, someProfiles, temporaryDirectory, usedIn } from '../support/directory.ts'
import { iccid, plainProfile, storedFile } from '../support/profiles.ts'
import { lines } from '../support/promises.ts'
import { seed } from '../support/seed.ts'
import { softsim } from '../support/softsim.ts'
import { hasSymlinks, isWindows } from '../support/system.ts'

/** Profile files with a changed byte, for one process. */
const CHANGED = 15

/** Without NUL, which no command line can hold; no API key that could be one, for nothing here may leave this machine. */
const OPTIONS =
  '-n -n5 -n=2 --count -i -o -k -u --format --format=json --iccid --crc --no-crc --smsp -v -vv -V -h --help=1 -h=1 -- - --no-such -a'
const word = fc.oneof(
  fc.constantFrom('fetch', 'next', 'help', '-a=x y', ...OPTIONS.split(' ')),
  fc.constantFrom('0', '-1', '1e3', '99999999999999999999', '.', '/', '/dev/null', 'nowhere', iccid(1)),
  anyText.map((text) => text.replaceAll('\0', '')),
)

test('any command line: a documented exit code, and no output unless it is 0', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(word, { maxLength: 7 }), async (words) => {
      // A word after -a could be a key.
      const args = words.flatMap((each) => (each === '-a' ? ['-a', 'no key'] : [each]))
      const { code } = await softsim(args, {
        cwd: temporaryDirectory(),
        env: { HTTPS_PROXY: 'http://127.0.0.1:9', HTTP_PROXY: 'http://127.0.0.1:9' },
      })
      // It is in the table for what nobody foresaw.
      expect(code).not.toBe(1)
    }),
    { numRuns: 5 },
  )
})

/** Something in a profile directory that nobody should have put there. */
interface Litter {
  name: string
  is: 'file' | 'directory' | 'link'
  text: string
}

const litter: fc.Arbitrary<Litter> = fc.record({
  name: fc.oneof(
    fc.constantFrom('.unused', '.incoming', 'profiles.json', '.json', '__.json'),
    fc.constantFrom(`${iccid(1)}.JSON`, `__${iccid(90)}.json`),
    fc.nat(40).map((number) => `${iccid(number)}.json`),
    fc.stringMatching(/^[^/\0]{1,20}$/).map((text) => `${text}.json`),
  ),
  is: fc.constantFrom<Litter['is'][]>('file', 'file', 'file', 'directory', 'link'),
  text: fc.oneof(
    answer,
    fc.nat(40).map((n) => JSON.stringify({ iccid: iccid(n), profile: 'AAAA' })),
  ),
})

/** What has made the next test fail at some time. */
const FOUND: [Litter[], number][] = [[[{ name: '__ .json', is: 'file', text: '' }], 1]]

test.skipIf(isWindows || !hasSymlinks)(
  'any directory: a profile is printed and used, or neither',
  async () => {
    const next = ['next', '-k', inject('keys').privateKeyPath]
    await fc.assert(
      fc.asyncProperty(
        fc.array(litter, { maxLength: 25 }),
        fc.integer({ min: 1, max: 3 }),
        async (all, count) => {
          const directory = directoryOf(someProfiles(3))
          for (const each of all) drop(directory, each)
          const before = usedIn(directory)
          const { code, stdout } = await softsim([...next, '-i', directory, '-n', String(count)])
          const taken = usedIn(directory).filter((name) => !before.includes(name))
          expect(code).not.toBe(1)
          expect(lines(stdout)).toHaveLength(code === 0 ? count : 0)
          expect(taken).toHaveLength(code === 0 ? count : 0)
        },
      ),
      { numRuns: 6, examples: FOUND },
    )
  },
)

function drop(directory: string, { name, is, text }: Litter): void {
  const path = join(directory, name)
  try {
    if (is === 'directory') mkdirSync(path)
    else if (is === 'link') symlinkSync(text.replaceAll('\0', '').slice(0, 40) || 'nowhere', path)
    else writeFileSync(path, text, { flag: 'wx' })
  } catch {
    // There is something of that name, or there can be none.
  }
}

test('a profile file with one changed byte is skipped, or gives the same profile', async () => {
  const { privateKeyPath, publicKey } = inject('keys')
  const all = someProfiles(2 * CHANGED)
  const handOut = async (directory: string, count: number) =>
    lines((await softsim(['next', '-k', privateKeyPath, '-i', directory, '-n', `${count}`])).stdout)
  const right = await handOut(directoryOf(all), all.length)
  const bytes = fc.record({ share: fc.double({ min: 0, max: 1, noNaN: true }), byte: fc.nat(255) })
  const changes = fc.sample(bytes, { seed, numRuns: CHANGED })
  const directory = directoryOf(all)
  // Every second one: of many in a row that the key does not decrypt, `next` says that the key is wrong.
  for (const [at, { share, byte }] of changes.entries()) {
    const profile = all[2 * at] ?? plainProfile(0)
    const whole = Buffer.from(storedFile(profile, publicKey))
    const place = Math.round(share * (whole.length - 1))
    writeFileSync(join(directory, `${profile.iccid}.json`), whole.fill(byte, place, place + 1))
  }
  const printed = await handOut(directory, CHANGED)
  expect(printed).toHaveLength(CHANGED)
  const actual = usedIn(directory).map((name) => right[all.findIndex(({ iccid }) => name.includes(iccid))])
  expect(actual).toEqual(printed)
})
