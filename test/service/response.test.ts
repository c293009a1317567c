import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { parseProfileList, readStart, readWhole } from '../../src/service/response.ts'

const LEAST = { bytes: 100, ms: 10 }

/** A body that begins with so many bytes at once, and goes on with so many in twice the time that the limit is about. */
async function* slowly(parts: number, bytes: number, atOnce = 0) {
  yield Buffer.alloc(atOnce)
  for (let part = 0; part < parts; part++) {
    await sleep(2 * LEAST.ms)
    yield Buffer.alloc(bytes, 'x')
  }
}

test('a response that becomes very slow after a good start is aborted', async () => {
  const call = readWhole(slowly(20, 1, 10_000), 1_000_000, LEAST)
  await expect(call).rejects.toMatchObject({ isPassing: true, mayHaveAllocated: true })
})

test('a response that is slow, but above the limit, is read to the end', async () => {
  expect(String(await readWhole(slowly(5, LEAST.bytes), 1_000_000, LEAST))).toBe('x'.repeat(500))
})

const KIB = 1024

/** A body that arrives at once, and then breaks or ends. */
async function* bodyOf(text: string, breaks = false) {
  yield Buffer.from(text)
  if (breaks) throw new Error('reset')
}

test('a response may be as large as allowed, and no larger', async () => {
  expect(await readWhole(bodyOf('12345'), 5, LEAST)).toHaveLength(5)
  const call = readWhole(bodyOf('123456'), 5, LEAST)
  await expect(call).rejects.toMatchObject({ isPassing: false, mayHaveAllocated: true })
})

test.each([
  ['of 16 KiB is whole', 16 * KIB, false, 16 * KIB],
  ['that is longer loses its last 4 KiB', 16 * KIB + 1, false, 12 * KIB + 1],
  ['that breaks off loses its last 4 KiB', 10 * KIB, true, 6 * KIB],
])('an error text %s: a part of a secret at its end would not be masked', async (_, size, breaks, kept) => {
  expect(await readStart(bodyOf('x'.repeat(size), breaks), LEAST)).toHaveLength(kept)
})

test('of an error text that arrives too slowly, the beginning is read', async () => {
  const least = { bytes: 2 * KIB, ms: LEAST.ms }
  expect((await readStart(slowly(100_000, KIB), least)).length).toBeLessThan(KIB)
})

const GOOD = { iccid: '89880000000000000001', profile: 'AAEC/w==' }
const parse = (...profiles: unknown[]) => parseProfileList(JSON.stringify({ count: 1, profiles }))

test('an ICCID of any length may end with a filler', () => {
  for (const iccid of ['8', '8'.repeat(20), '898800000000000000F', '898800000000000000f']) {
    expect(parse({ ...GOOD, iccid })?.profiles).toHaveLength(1)
  }
})

test.each([
  ['null', null],
  ['a number', 5],
  ['not an object', [GOOD]],
  ['no ICCID', { profile: 'AAAA' }],
  ['no profile', { iccid: GOOD.iccid }],
  ['a number for an ICCID', { ...GOOD, iccid: 8988 }],
  ['an empty ICCID', { ...GOOD, iccid: '' }],
  ['an ICCID of 21 digits', { ...GOOD, iccid: '8'.repeat(21) }],
  ['an ICCID with two fillers', { ...GOOD, iccid: '8988FF' }],
  ['an ICCID that is a path', { ...GOOD, iccid: '../../x' }],
  ['an ICCID with a line break', { ...GOOD, iccid: '8988\n' }],
  ['an ICCID in other digits', { ...GOOD, iccid: '٨٩٨٨' }],
  ['an empty profile', { ...GOOD, profile: '' }],
  ['a profile that is not base64', { ...GOOD, profile: 'AAA*' }],
  ['base64url', { ...GOOD, profile: 'AA-_' }],
  ['base64 with a byte missing', { ...GOOD, profile: 'AAAAA' }],
])('%s: only that entry is refused, and it is named', (_, bad) => {
  const answer = parse(GOOD, bad, GOOD)
  expect(answer?.profiles).toEqual([GOOD, GOOD])
  expect(answer?.refused).toHaveLength(1)
  expect(answer?.refused[0]).toMatch(/^entry 2\b.*: ./s)
})

test('an entry is named by its ICCID also without a profile, and by its number alone otherwise', () => {
  const { iccid } = GOOD
  const refused = [iccid, `${'8'.repeat(19)}F`, '8'.repeat(21), 8988].map((each) => ({ iccid: each }))
  const named = [`entry 1 (ICCID ${iccid})`, `entry 2 (ICCID ${'8'.repeat(19)})`]
  const all = parse(...refused, null)?.refused.map((each) => each.split(':')[0])
  expect(all).toEqual([...named, 'entry 3', 'entry 4', 'entry 5'])
})

test('a byte order mark is ignored', () => {
  expect(parseProfileList(`\ufeff${JSON.stringify({ profiles: [GOOD] })}`)?.profiles).toEqual([GOOD])
})

test.each(['', 'null', '[]', '{}', '{"profiles":null}', '{"profiles":{}}', '<html>', '{"profiles":[', '\0'])(
  '%j is not a valid response',
  (body) => expect(parseProfileList(body)).toBeUndefined(),
)
