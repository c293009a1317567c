import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { addProfile, directoryOf, namesIn, someProfiles, unusedIn } from '../support/directory.ts'
import { iccid, plainProfile } from '../support/profiles.ts'
import { failure } from '../support/promises.ts'
import { startSandbox } from '../support/sandbox.ts'
import { softsim } from '../support/softsim.ts'

const { privateKeyPath: KEY } = inject('keys')

async function nextIccid(directory: string): Promise<string> {
  const run = await softsim(['next', '-k', KEY, '-i', directory, '--format=raw'])
  expect(run).toMatchObject({ code: 0, stderr: '' })
  return JSON.parse(run.stdout).iccid
}

/** A line as they are in it: padded to one length. */
const line = (text: string | number) => `${String(text).padEnd(23)}\n`

test('with a lost, torn or false hint, every profile is still handed out exactly once', async () => {
  const directory = directoryOf(someProfiles(12))
  const printed = [await nextIccid(directory)]
  const magic = 'softsim unused 1'
  const spoilt = [
    '',
    'garbage',
    '\0'.repeat(500),
    line(magic),
    [magic, 5, 0, ...Array(5).fill(iccid(1))].map(line).join(''),
    [magic, 3, 0, '../../x', iccid(99), '__'].map(line).join(''),
    [magic, 999_999_999, 0, iccid(3)].map(line).join(''),
    [magic, 2, 999, iccid(5), iccid(6)].map(line).join(''),
    [magic, 2, -1, iccid(5), iccid(6)].map(line).join(''),
    [magic, 100, 0, ...Array.from({ length: 100 }, (_, n) => iccid(n + 100))].map(line).join(''),
  ]
  for (const text of spoilt) {
    writeFileSync(join(directory, '.unused'), text)
    printed.push(await nextIccid(directory))
  }
  printed.push(await nextIccid(directory))
  expect(printed.sort()).toEqual(someProfiles(12).map((each) => each.iccid))
  const run = await softsim(['next', '-k', KEY, '-i', directory])
  expect(run).toEqual(failure(3, /no unused profile .*/))
})

test('next continues after profiles were removed by hand', async () => {
  const directory = directoryOf(someProfiles(1))
  await nextIccid(directory)
  for (let n = 2; n <= 5; n++) addProfile(directory, plainProfile(n))
  expect(await nextIccid(directory)).toBe(iccid(2))
})

test('profiles of a fetch between calls of next are handed out', async () => {
  const { fetch, directory, delivered } = await startSandbox()
  await fetch(['-n', '3'])
  const printed = [await nextIccid(directory)]
  await fetch(['-n', '3'])
  for (let n = 0; n < 5; n++) printed.push(await nextIccid(directory))
  expect(printed.sort()).toEqual([...delivered.keys()].sort())
  expect(unusedIn(directory)).toEqual([])
})

test('a false hint does not lead to claims outside the profiles', async () => {
  const directory = directoryOf(someProfiles(1))
  const outside = join(directory, '..', `${iccid(7)}.json`)
  writeFileSync(outside, 'outside')
  writeFileSync(join(directory, '.unused'), ['softsim unused 1', 1, 0, `../${iccid(7)}`].map(line).join(''))
  expect(await nextIccid(directory)).toBe(iccid(1))
  expect(existsSync(outside)).toBe(true)
  expect(namesIn(join(directory, '..'))).toEqual([`${iccid(7)}.json`, 'profiles'])
})
