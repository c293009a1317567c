import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readSettled, usedText } from '../../src/store/claim.ts'
import { nextName } from '../../src/store/names.ts'
import { namesIn } from '../support/directory.ts'
import { directoryWith } from '../support/store.ts'

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
const claim = (directory: string, key: string, text: string) => {
  mkdirSync(join(directory, '.claims', key), { recursive: true })
  writeFileSync(join(directory, '.claims', key, 'nonce'), text)
}

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

test('the next name has no filler', () => {
  const seen = ['8988.json', '8988F.json', '8988F.9.json'].map(nextName)
  expect(seen).toEqual(['8988.2.json', '8988.2.json', '8988.10.json'])
})

/** What a call has decided that is gone by now. */
const old = (text: string) => JSON.stringify({ ...JSON.parse(text), claimed: '2026-01-01T00:00:00.000Z' })

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
  claim(directory, '8982', old(usedText(profile(2))))
  writeFileSync(join(directory, '.claims', '8981'), '')
  expect([...readSettled(directory, messages).iccids]).toEqual(['8981'])
  expect([namesIn(directory), said]).toEqual([
    ['8981.json', '__8982.json'],
    [[expect.stringMatching(/^8981: a claim can't be finished: /)], unprinted('8982')],
  ])
})
