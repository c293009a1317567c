import { mkdirSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { removeTwin, useOf } from '../../src/store/claim.ts'
import { readUnused } from '../../src/store/listing.ts'
import { keyOfName } from '../../src/store/names.ts'
import { deviceIn, refuseAssigned, tombstoneIn } from '../../src/store/profile-file.ts'
import { namesIn } from '../support/directory.ts'
import { directoryWith } from '../support/store.ts'
import { once } from '../support/watched-fs.ts'

vi.mock('node:fs', async () => (await import('../support/watched-fs.ts')).watchedFs)

const STORED = JSON.stringify({ iccid: '8988', profile: 'AAAA' })
const USED = JSON.stringify({ iccid: '8988', profile: 'AAAA', device: 'D', file: '8988.json', claim: 'x' })
const OTHER = JSON.stringify({ iccid: '8989', profile: 'AAAA' })
const MOVED = { move: '0'.repeat(36), to: '/other', moved: { iccid: '8988', profile: 'AAAA', from: 'y' } }
const TOMB = JSON.stringify(MOVED)

const CLAIM = { '.claims/8988/nonce': USED }
const unused = { state: 'unused', name: '8988.json' }
const claimed = { state: 'claimed', name: '8988.json', text: USED }
const used = (text: string, isTwin: boolean) => ({ state: 'used', name: '8988.json', text, isTwin })
const torn = (text: string, isTwin: boolean) => ({ ...used(text, isTwin), state: 'torn' })

test.each([
  ['nothing', {}, { state: 'gone' }],
  ['the unused file', { '8988.json': STORED }, unused],
  ['it with a filler', { '8988F.json': STORED }, { ...unused, name: '8988F.json' }],
  ['a draft of a claim', { '8988.json': STORED, '.claims/~a/a': USED }, unused],
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
  ['it came back', { '__8988.json': TOMB, '8988.2.json': STORED }, { ...unused, name: '8988.2.json' }],
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
    mkdirSync(join(directory, '.claims', '8988'), { recursive: true })
    writeFileSync(join(directory, '.claims', '8988', 'nonce'), USED)
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

test('whom a file names: a device or a move, and only then nobody else may get it', () => {
  expect(deviceIn(USED)).toBe('D')
  for (const text of [STORED, TOMB, '', '[]', '{"device":1}']) expect(deviceIn(text)).toBeUndefined()
  expect(tombstoneIn(TOMB)).toEqual({ move: MOVED.move, to: MOVED.to, profile: MOVED.moved })
  const broken = [{ move: '../x' }, { to: 1 }, { moved: { iccid: '8988' } }, { moved: null }]
  for (const each of broken) expect(tombstoneIn(JSON.stringify({ ...MOVED, ...each }))).toBeUndefined()
  expect(() => refuseAssigned(USED)).toThrow('device D has it')
  expect(() => refuseAssigned(STORED)).not.toThrow()
  expect(['8988F.json', '__8988.3.json', 'x.json'].map(keyOfName)).toEqual(['8988', '8988.3', 'x.json'])
})

test('of a used profile that had come back, the unused files of its earlier comings go, too', () => {
  const directory = directoryWith({ '8988F.json': STORED, '8988.2.json': STORED, '__8988.3.json': USED })
  removeTwin(directory, useOf(directory, '8988'))
  expect(namesIn(directory)).toEqual(['__8988.3.json'])
})
