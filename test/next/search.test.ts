import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { adviceOn } from '../../src/advice/advice.ts'
import { UnusableProfile } from '../../src/failure.ts'
import type { Source } from '../../src/next/ready.ts'
import { shortage } from '../../src/next/search.ts'
import { take as takeProfiles } from '../../src/next/take.ts'
import { temporaryDirectory, usedIn } from '../support/directory.ts'
import { iccid, plainProfile, storedFile } from '../support/profiles.ts'
import { directoryWith } from '../support/store.ts'
import { systemError } from '../support/watched-fs.ts'
import { iccidsOf, source as sourceOf } from './lot.ts'

const { publicKey } = inject('keys')

/** Thirty files with this text, and a call that reads them; `onRead` is called with the name of each before that. */
function thirty(text: (iccid: string) => string, onRead: (name: string) => void = () => {}) {
  const directory = temporaryDirectory()
  for (let n = 1; n <= 30; n++) writeFileSync(join(directory, `${iccid(n)}.json`), text(iccid(n)))
  const stop = new AbortController()
  const said: string[] = []
  const read: string[] = []
  const signals = { stop: stop.signal, beforeClaim: () => {} }
  const messages = {
    warn: (words: string) => void said.push(words),
    tell: (_: number, words: string) => {
      if (!words.startsWith('reading ')) return
      read.push(words)
      onRead(words.slice('reading '.length))
    },
  }
  return { source: sourceOf(undefined, { directory, format: 'hex', messages, signals }), stop, said, read }
}

const locked = (iccid: string) => JSON.stringify({ iccid, profile: Buffer.alloc(512, 1).toString('base64') })
const damaged = () => '{}'
const unfit = (iccid: string) => storedFile({ ...plainProfile(1), iccid, k: '' }, publicKey)

test('more than there are: no file is read', async () => {
  const { source, read } = thirty(locked)
  await expect(takeProfiles(source, { count: 31 }).catch(adviceOn)).resolves.toMatchObject({
    outcome: 'no-profiles',
    message: `at most 30 of 31 requested profiles are available in ${source.directory}`,
  })
  expect(read).toEqual([])
})

test('a file that is complete at the second look is taken', async () => {
  const { source, read } = thirty(damaged, (name) => {
    const path = join(source.directory, name)
    if (read.length === 2) writeFileSync(path, storedFile(plainProfile(1), publicKey))
  })
  expect([await iccidsOf(takeProfiles(source, { count: 1 })), read.length]).toEqual([[iccid(1)], 2])
})

test('a signal ends the search for a profile that can be used', async () => {
  const { source, stop, read } = thirty(damaged, () => setImmediate(() => stop.abort()))
  await expect(takeProfiles(source, { count: 1 }).catch(adviceOn)).resolves.toMatchObject({
    outcome: 'interrupted',
  })
  // Each is read twice: a running fetch may be writing it.
  expect(read.length).toBeLessThan(2 * 30)
})

test('twenty files that can’t be used are named, and the others are counted', async () => {
  const { source, said } = thirty(damaged)
  for (let n = 1; n <= 120; n++) writeFileSync(join(source.directory, `no-profile-${n}.json`), '')
  await expect(takeProfiles(source, { count: 1 }).catch(adviceOn)).resolves.toMatchObject({
    outcome: 'unusable',
  })
  expect(said).toHaveLength(21)
  expect(said.at(-1)).toBe('130 more files skipped')
})

test('a file that a call may be storing is not damaged', async () => {
  const { source, said } = thirty(damaged)
  mkdirSync(join(source.directory, '.incoming'))
  writeFileSync(join(source.directory, '.incoming', 'x.answer'), '')
  await expect(takeProfiles(source, { count: 1 }).catch(adviceOn)).resolves.toMatchObject({
    outcome: 'no-profiles',
  })
  expect(said[0]).toContain('.json is skipped: a fetch may be writing it: ')
})

const TAKERS: [string, (source: Source) => ReturnType<typeof takeProfiles>][] = [
  ['the next one', (source) => takeProfiles(source, { count: 1 })],
  ['a device', (source) => takeProfiles(source, { count: 1, devices: ['D'] })],
]

test.each(TAKERS)('%s: a signal while the profile is decrypted: nothing is claimed', async (_, take) => {
  const { source, stop } = thirty(
    () => storedFile(plainProfile(1), publicKey),
    () => stop.abort(),
  )
  await expect(take(source).catch(adviceOn)).resolves.toMatchObject({ outcome: 'interrupted' })
  expect(usedIn(source.directory)).toEqual([])
})

test('one that decrypts and does not fit says that the key is right, however many others do not decrypt', async () => {
  const { source } = thirty((each) => (each === iccid(4) ? unfit(each) : locked(each)))
  for (const n of [9, 10])
    writeFileSync(join(source.directory, `${iccid(n)}.json`), storedFile(plainProfile(n), publicKey))
  writeFileSync(join(source.directory, `${iccid(8)}.json`), unfit(iccid(8)))
  expect(await iccidsOf(takeProfiles(source, { count: 2 }))).toEqual([iccid(9), iccid(10)])
})

type Found = Partial<Record<'usable' | 'used' | 'skipped' | 'held' | 'unreadable' | 'count', number>>

/** What is said where one profile is wanted, and this was found. */
function saidOf(directory: string, found: Found) {
  const { count = 1, usable = 0, used = 0, skipped = 0, held = 0, unreadable = 0 } = found
  const unread =
    unreadable > 0 ? new UnusableProfile('unreadable', 'why', { cause: systemError('EIO') }) : undefined
  const files = { count: skipped, held, unreadable, unread }
  return adviceOn(shortage(directory, { count, usable }, { used }, files))
}

test.each([
  [{}, 'no-profiles', 'no unused profile in D'],
  [{ skipped: 1, unfinished: 1 }, 'no-profiles', 'no unused profile in D can be used yet'],
])('what a fetch has received comes first: %j', (found, outcome, message) => {
  const directory = directoryWith({ '.incoming/x.answer': '{"iccid":"8988","profile":"AAAA"}\n' })
  const advice = saidOf(directory, found)
  expect([advice.outcome, advice.message.replace(directory, 'D')]).toEqual([outcome, message])
  expect(advice.hint).toMatch(/^1 profile that a running or interrupted call received will be stored/)
})

test.each([
  [{ used: 0 }, 'no-profiles', /^check -i/],
  [{ used: 1 }, 'no-profiles', /^all profiles in it are used/],
  [{ skipped: 1, held: 1 }, 'disk', /^close them/],
  [{ skipped: 1 }, 'unusable', /^see the warning for each file/],
  [{ skipped: 1, usable: 1 }, 'no-profiles', /^softsim status -k counts/],
  [{ skipped: 2, unreadable: 1 }, 'disk', /^connect the share/],
  [{ skipped: 1, unreadable: 1, count: 3 }, 'disk', /^connect the share/],
  [{ skipped: 1, unreadable: 1, count: 3, usable: 2 }, 'disk', /^connect the share/],
  [{ skipped: 1, unreadable: 1, count: 3, usable: 1 }, 'no-profiles', /^softsim status -k counts/],
])('too few: %j', (found, outcome, hint) => {
  expect(saidOf(temporaryDirectory(), found)).toMatchObject({ outcome, hint: expect.stringMatching(hint) })
})
