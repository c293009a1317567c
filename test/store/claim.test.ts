import { readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { readSettled, removeTwin, usedText, useOf } from '../../src/store/claim.ts'
import { readUnused } from '../../src/store/listing.ts'
import { namesIn } from '../support/directory.ts'
import { leaveClaim as claim, directoryWith, STORED, TOMB, USED } from '../support/store.ts'
import { once } from '../support/watched-fs.ts'

vi.mock('node:fs', async () => (await import('../support/watched-fs.ts')).watchedFs)

const profile = (n: number) => ({
  name: `898${n}.json`,
  stored: JSON.stringify({ iccid: `898${n}`, profile: 'AAAA', from: 'a move' }),
})

/** A directory with these files, and all that is said of it. */
function place(...files: (readonly [name: string, text: string])[]) {
  const directory = directoryWith(Object.fromEntries(files))
  const said: unknown[][] = []
  const messages = { warn: (...words: unknown[]) => void said.push(words), tell() {} }
  return { directory, said, messages, read: (name: string) => readFileSync(join(directory, name), 'utf8') }
}
const unused = (n: number) => [profile(n).name, profile(n).stored] as const

test('a used file says who has the profile, and no two say the same', () => {
  const text = usedText(profile(1), 'D')
  const { claimed, claim, ...others } = JSON.parse(text)
  const stored = JSON.parse(profile(1).stored)
  expect(others).toEqual({ ...stored, device: 'D', station: hostname(), file: '8981.json' })
  expect(Date.parse(claimed)).toBeGreaterThan(0)
  expect(JSON.parse(usedText(profile(1), 'D')).claim).not.toBe(claim)
  // What somebody has renamed back by hand is not whose it was.
  expect(JSON.parse(usedText({ ...profile(1), stored: text })).device).toBeUndefined()
})

/** What a call has decided that is gone by now. */
const old = (text: string, claimed = '2026-01-01T00:00:00.000Z') =>
  JSON.stringify({ ...JSON.parse(text), claimed })

const unprinted = (iccid: string) => [
  `${iccid} is marked used and may not have been printed: a call of ${hostname()} was killed while it claimed it, or still waits`,
  'unprinted',
  iccid,
]

test('a claim that its call may still finish is left alone', () => {
  const { directory, said, messages } = place(unused(1))
  claim(directory, '8981', usedText(profile(1)))
  expect([...readSettled(directory, messages).iccids]).toEqual(['8981'])
  expect([namesIn(directory), said]).toEqual([['8981.json'], []])
})

test('whoever reads a directory finishes what killed calls have decided, and removes what is left beside', () => {
  const { directory, said, messages, read } = place(unused(1), unused(2), unused(3), unused(4), [
    '__8984.json',
    profile(4).stored,
  ])
  const text = old(usedText(profile(1)))
  claim(directory, '8981', text)
  claim(directory, '8982.2+', profile(2).stored)
  writeFileSync(join(directory, '__8982.json'), usedText(profile(2)))
  const found = readSettled(directory, messages)
  expect([...found.iccids].sort()).toEqual(['8982.2', '8983'])
  const got = namesIn(directory)
  expect(got).toEqual(['8982.2.json', '8983.json', '__8981.json', '__8982.json', '__8984.json'])
  const outcome = [read('__8981.json'), read('8982.2.json'), said]
  expect(outcome).toEqual([text, profile(2).stored, [unprinted('8981')]])
})

test('claims for a device are finished at once, however many: its next call prints its profile', () => {
  const all = Array.from({ length: 65 }, (_, at) => profile(at))
  const { directory, said, messages } = place()
  for (const [at, each] of all.entries()) claim(directory, `898${at}`, usedText(each, `D${at}`))
  readSettled(directory, messages)
  expect([namesIn(directory).length, said]).toEqual([65, []])
})

test('a call that ends while it names a profile leaves the claim, which says so, to the next one', () => {
  const { directory, said, messages } = place(unused(1))
  claim(directory, '8981', old(usedText(profile(1))))
  const warn = () => {
    throw new Error('killed')
  }
  expect(() => readSettled(directory, { ...messages, warn })).toThrow('killed')
  readSettled(directory, messages)
  expect(said).toEqual([unprinted('8981')])
})

test('what can’t be finished is said, and the others are', () => {
  const { directory, said, messages } = place(unused(1), unused(2))
  // By a clock that was wrong.
  claim(directory, '8982', old(usedText(profile(2)), '2999-01-01T00:00:00.000Z'))
  writeFileSync(join(directory, '.claims', '8981'), '')
  expect([...readSettled(directory, messages).iccids]).toEqual(['8981'])
  expect([namesIn(directory), said]).toEqual([
    ['8981.json', '__8982.json'],
    [[expect.stringMatching(/^8981: a claim can't be finished: /)], unprinted('8982')],
  ])
})

const OTHER = JSON.stringify({ iccid: '8989', profile: 'AAAA' })
const CLAIM = { '.claims/8988/nonce': USED }
const free = { state: 'unused', name: '8988.json' }
const claimed = { state: 'claimed', name: '8988.json', text: USED }
const used = (text: string, hasTwin: boolean) => ({ state: 'used', name: '8988.json', text, hasTwin })
const torn = (text: string, hasTwin: boolean) => ({ ...used(text, hasTwin), state: 'torn' })

test.each([
  ['nothing', {}, { state: 'gone' }],
  ['the unused file', { '8988.json': STORED }, free],
  ['it with a filler', { '8988F.json': STORED }, { ...free, name: '8988F.json' }],
  ['a draft of a claim', { '8988.json': STORED, '.claims/~a/a': USED }, free],
  ['a claim', { '8988.json': STORED, ...CLAIM }, claimed],
  ['a claim, and no unused file', CLAIM, claimed],
  ['a claim, and an empty used file', { ...CLAIM, '__8988.json': '' }, claimed],
  ['a claim, and a used file that is being written', { ...CLAIM, '__8988.json': USED.slice(0, 9) }, claimed],
  ['the used file', { '__8988.json': USED }, used(USED, false)],
  ['that of a tool that only renames', { '__8988.json': STORED }, used(STORED, false)],
  ['that of a move', { '__8988.json': TOMB }, used(TOMB, false)],
  ['both files', { '8988.json': STORED, '__8988.json': USED }, used(USED, true)],
  ['both, in two spellings', { '8988F.json': STORED, '__8988.json': USED }, used(USED, true)],
  ['both, and a late claim', { ...CLAIM, '8988.json': STORED, '__8988.json': STORED }, used(STORED, true)],
  ['an empty used file beside the unused one', { '8988.json': STORED, '__8988.json': '' }, torn('', true)],
  ['an empty used file', { '__8988.json': '' }, torn('', false)],
  ['a used file of another profile', { '__8988.json': OTHER }, torn(OTHER, false)],
  ['it came back', { '__8988.json': TOMB, '8988.2.json': STORED }, { ...free, name: '8988.2.json' }],
  ['it is coming back', { '__8988.json': TOMB, '.claims/8988.2+/nonce': STORED }, used(TOMB, false)],
  [
    'it came back and is used',
    { '__8988.json': TOMB, '__8988F.2.json': USED },
    { ...used(USED, false), name: '8988F.2.json' },
  ],
])('what the names say of a profile: %s', (_, files, use) => {
  expect(useOf(directoryWith(files), '8988')).toEqual(use)
})

test('what is decided during the look, and then has no file for a moment, is claimed', () => {
  const directory = directoryWith({ '8988.json': STORED })
  once('before', 'look', '8988.json', () => {
    claim(directory, '8988', USED)
    unlinkSync(join(directory, '8988.json'))
  })
  expect(useOf(directory, '8988')).toEqual(claimed)
})

test('a used file that can’t be read is not taken for none', () => {
  const directory = directoryWith({ '8988.json': STORED, '__8988.json/x': '' })
  expect(() => useOf(directory, '8988')).toThrow('it is not a regular file')
})

test('of a used profile, the unused file goes in each spelling; of any other, none', () => {
  const directory = directoryWith({ '8988.json': STORED, '8988F.json': STORED, '__8988.json': USED })
  removeTwin(directory, useOf(directory, '8988'))
  expect(namesIn(directory)).toEqual(['__8988.json'])
  const other = directoryWith({ '8988.json': STORED, '__8988.json': '' })
  removeTwin(other, useOf(other, '8988'))
  expect([namesIn(other).length, [...readUnused(other).iccids]]).toEqual([2, []])
})
