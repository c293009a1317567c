import * as fs from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { add, nothingAdded } from '../../../src/store/incoming/add.ts'
import {
  END,
  formatAnswer,
  INCOMING,
  parseAnswerFile,
  putAside,
  removeAnswer,
} from '../../../src/store/incoming/answers.ts'
import { reserve, toReserve } from '../../../src/store/incoming/free-space.ts'
import { openTarget } from '../../../src/store/incoming/target-directory.ts'
import type { StoredProfile } from '../../../src/store/profile-file.ts'
import { namesIn, temporaryDirectory } from '../../support/directory.ts'
import { nameOfGone, recover } from '../../support/store.ts'
import { once } from '../../support/watched-fs.ts'

vi.mock('node:fs', async () => (await import('../../support/watched-fs.ts')).watchedFs)

const profiles = (count: number, length = 684): StoredProfile[] =>
  Array.from({ length: count }, (_, n) => ({ iccid: `8988${n}`, profile: 'A'.repeat(length) }))

async function place() {
  const directory = temporaryDirectory()
  const target = await openTarget(directory)
  const incoming = join(directory, INCOMING)
  return { directory, target, incoming, inside: () => fs.readdirSync(incoming) }
}

test('reserves as much space as the response will need, and releases it', async () => {
  const { target, incoming, inside } = await place()
  const aside = await reserve(target, 100)
  expect(inside()).toEqual([aside])
  const { size, blocks } = fs.statSync(join(incoming, aside, 'answer'))
  expect(size).toBeGreaterThan(Buffer.byteLength(formatAnswer(profiles(100))))
  // Where the system tells: it is no hole in a file.
  if (blocks > 0) expect(blocks * 512).toBeGreaterThanOrEqual(size)
  removeAnswer(target, aside)
  expect(inside()).toEqual([])
})

const ANSWERS = { smaller: profiles(3), larger: profiles(3, 5000) }

test.each(Object.entries(ANSWERS))('a response %s than the reserve is written over it', async (_, answer) => {
  const { target, incoming, inside } = await place()
  const aside = await reserve(target, 3)
  const { ino } = fs.statSync(join(incoming, aside, 'answer'))
  await putAside(target, aside, answer)
  expect(inside()).toEqual([aside])
  expect(fs.statSync(join(incoming, aside, 'answer')).ino).toBe(ino)
  expect(fs.readFileSync(join(incoming, aside, 'answer'), 'utf8')).toBe(formatAnswer(answer))
})

test.each<[string, (incoming: string, aside: string) => void]>([
  ['is gone', (incoming, aside) => fs.rmSync(join(incoming, aside), { recursive: true })],
  ['is gone with all of .incoming', (incoming) => fs.rmSync(incoming, { recursive: true })],
  [
    'can’t be removed',
    (incoming, aside) => {
      fs.rmSync(join(incoming, aside, 'answer'))
      fs.mkdirSync(join(incoming, aside, 'answer', 'theirs'), { recursive: true })
    },
  ],
])('the reserve %s: the response is written to a new file, or it is reported', async (what, spoil) => {
  const { directory, target, incoming } = await place()
  const aside = await reserve(target, 2)
  spoil(incoming, aside)
  const added = nothingAdded()
  if (what.startsWith('can')) {
    // Nothing can be written there at all: it is told, and nothing of it is left.
    await expect(add(target, aside, profiles(2), added)).rejects.toMatchObject({ facts: { kind: 'lost' } })
    return
  }
  await add(target, aside, profiles(2), added)
  expect(added.stored).toHaveLength(2)
  expect(namesIn(directory)).toEqual(['89880.json', '89881.json'])
})

test('an empty response releases the space', async () => {
  const { target, inside } = await place()
  const aside = await reserve(target, 2)
  await add(target, aside, [], nothingAdded())
  expect(inside()).toEqual([])
})

test('the reserve of a killed fetch is removed; a partly written response is found', async () => {
  const { directory, incoming } = await place()
  const [unused, begun] = [nameOfGone(), nameOfGone()]
  const room = toReserve(9000)
  for (const each of [unused, begun]) {
    fs.mkdirSync(join(incoming, each))
    fs.writeFileSync(join(incoming, each, 'answer'), room)
  }
  // Those of version 1.1 are files.
  for (const ending of ['.reserve', '.answer', '.fetch', '.0'])
    fs.writeFileSync(join(incoming, nameOfGone(ending)), ending.length > 6 ? room : '')
  const file = fs.openSync(join(incoming, begun, 'answer'), 'r+')
  fs.writeSync(file, formatAnswer(profiles(2)) + END)
  fs.closeSync(file)
  expect(await recover(directory)).toEqual({ stored: ['89880', '89881'], known: [], damaged: [] })
  expect(fs.readdirSync(incoming)).toEqual([])
})

/** What a power cut may leave of an answer that was being written over its reserve: each sector the old or the new one. */
function torn(answer: string, isNew: readonly boolean[], sector: number): string {
  const text = Buffer.from(answer + END)
  const room = toReserve(text.length * 2)
  const written = Buffer.concat([text, room.subarray(text.length)])
  for (let at = 0; at < room.length; at += sector) {
    if (!isNew[(at / sector) % isNew.length]) room.copy(written, at, at, at + sector)
  }
  return written.toString('utf8')
}

test('a partly written response never counts as complete, and no profile is invented', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 12 }),
      fc.constantFrom(512, 4096),
      (count, isNew, sector) => {
        const answer = profiles(count)
        const { profiles: found, isComplete } = parseAnswerFile(torn(formatAnswer(answer), isNew, sector))
        expect(answer).toEqual(expect.arrayContaining(found))
        // Whole, or as if nothing had been written at all.
        if (isComplete) expect([0, count]).toContain(found.length)
        if (isComplete && found.length === 0) expect(isNew[0]).toBe(false)
        if (isNew.every(Boolean)) expect([isComplete, found.length]).toEqual([true, count])
      },
    ),
    { numRuns: 500 },
  )
})

test('a call that another one took for dead meanwhile puts its response aside anew', async () => {
  const { target, incoming, inside } = await place()
  const aside = await reserve(target, 2)
  once('after', 'open r+', 'answer', () => fs.renameSync(join(incoming, aside), join(incoming, 'taken')))
  await putAside(target, aside, profiles(2)).catch(() => {})
  fs.rmSync(join(incoming, 'taken'), { recursive: true, force: true })
  expect(inside()).toEqual([aside])
  expect(fs.readFileSync(join(incoming, aside, 'answer'), 'utf8')).toBe(formatAnswer(profiles(2)))
})
