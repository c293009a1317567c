import { renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { adviceOn } from '../../src/advice/advice.ts'
import type { Source } from '../../src/next/ready.ts'
import { take } from '../../src/next/take.ts'
import { addProfile } from '../support/directory.ts'
import { iccid, plainProfile } from '../support/profiles.ts'
import { fail } from '../support/watched-fs.ts'
import { directory, names, path, source, unused, used } from './lot.ts'

/** Nobody else is there to wait for. */
vi.mock('../../src/pause.ts', () => ({ pause() {} }))
vi.mock('node:fs', async () => (await import('../support/watched-fs.ts')).watchedFs)

const back = (n: number) => unused(n, 2)

/** As another tool does it that shares the directory. */
const claimElsewhere = (n: number) => renameSync(path(unused(n)), path(used(n)))

/** Something that happens once: what is found instead is not claimed elsewhere as well. */
function once(action: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) action()
    isDone = true
  }
}

/** Ends a call right before its claim. */
function stop(): never {
  throw new Error('stopped')
}

test('a panel, of which another call claims one: a profile that was added in the meantime is taken instead', async () => {
  const meanwhile = once(() => {
    claimElsewhere(2)
    addProfile(directory, plainProfile(5))
  })
  const { taken } = await take(source(meanwhile), { count: 4 })
  expect(taken.map((each) => each.iccid)).toEqual([1, 3, 4, 5].map((n) => iccid(n)))
})

test('a panel, a signal after its first claims, and another call: it takes what is missing', async () => {
  const stop = new AbortController()
  const hold = once(() => {
    claimElsewhere(2)
    stop.abort()
  })
  const { taken } = await take(source(hold, { signals: { stop: stop.signal, beforeClaim: hold } }), {
    count: 3,
  })
  expect(taken.map((each) => each.iccid)).toEqual([1, 3, 4].map((n) => iccid(n)))
})

test('a panel whose second claim can’t be completed: all are named, and no other one is touched', async () => {
  fail(/^(open wx|rename)$/, used(2))
  await expect(take(source(), { count: 3 })).rejects.toMatchObject({
    // Of the second one, nobody can tell.
    taken: [2, 1, 3].map((n) => ({ iccid: iccid(n) })),
    cause: { facts: { kind: 'not-claimed' }, message: expect.stringContaining(unused(2)) },
  })
  expect(names()).toEqual([unused(4), used(1), used(3)])
})

test('a panel that is too small, and one of its claims can’t come back: that one is named', async () => {
  fail(/^(open wx|rename)$/, back(3))
  const taking = take(source(once(() => claimElsewhere(2))), { count: 4 })
  const cause = { facts: { kind: 'too-few' } }
  await expect(taking).rejects.toMatchObject({ taken: [{ iccid: iccid(3), isUnsure: true }], cause })
  expect(names()).toEqual([back(1), back(4), ...[1, 2, 3, 4].map((n) => used(n))])
})

test('a panel that is too small, and somebody has claimed one of it anew: that one is not named', async () => {
  const meanwhile = once(() => {
    claimElsewhere(2)
    writeFileSync(path(used(1, 2)), '{}')
  })
  await expect(take(source(meanwhile), { count: 4 })).rejects.toMatchObject({ facts: { kind: 'too-few' } })
  expect(names()).toEqual([back(3), back(4), used(1, 2), ...[1, 2, 3, 4].map((n) => used(n))])
})

test('devices that are too many: how many profiles there are is said', async () => {
  const taking = take(source(), { count: 5, devices: [...'ABCDE'] })
  await expect(taking).rejects.toThrow('at most 4 of 5 requested profiles are available')
})

const WHICH = { 'the only one': 'disk', 'not the only one': 'unusable' }

test.each(Object.entries(WHICH))(
  'another program has a profile open, %s that can’t be used',
  async (which, outcome) => {
    const others = [2, 3, 4].map((n) => unused(n))
    for (const each of others) {
      if (which === 'the only one') unlinkSync(path(each))
      else writeFileSync(path(each), '{}')
    }
    fail(/^rename$/, iccid(1), 'EBUSY')
    await expect(take(source(), { count: 1 }).catch(adviceOn)).resolves.toMatchObject({ outcome })
    expect(names()).toContain(unused(1))
  },
)

test.each([
  ['a panel', (from: Source) => take(from, { count: 2 })],
  ['two devices', (from: Source) => take(from, { count: 2, devices: ['A', 'B'] })],
])('%s: what it was about to claim when it stopped is next in line', async (_, taking) => {
  // From now on there is a hint, and nobody reads the directory.
  await take(source(), { count: 1 })
  await expect(taking(source(stop))).rejects.toThrow('stopped')
  expect((await take(source(), { count: 1 })).taken.map((each) => each.iccid)).toEqual([iccid(2)])
})

test('devices, of which one had its profile before: if nothing is claimed for the others, nothing is named', async () => {
  await take(source(), { count: 1, devices: ['A'] })
  fail(/^rename$/, iccid(2))
  await expect(take(source(), { count: 2, devices: ['A', 'B'] })).rejects.toMatchObject({
    facts: { kind: 'not-claimed' },
  })
})
