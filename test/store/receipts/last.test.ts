import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { deniedBy, holdersIn, lastMoves, withSeveralIccids } from '../../../src/store/receipts/last.ts'
import { Groups, type Receipt } from '../../../src/store/receipts/read-receipts.ts'

const ICCID = '8988'

/** Clocks say nothing. */
const told = { time: '2026', station: 'line-1', iccid: ICCID, source: 'receipt.jsonl:1' }

const handOut = (device: string | null, again = false): Receipt => ({
  ...{ ...told, device, again, move: undefined },
  ...{ directory: '/any', file: `__${ICCID}.json` },
})

/** @param number how often the profile has come to the directory that it leaves */
const move = (id: string, directory: string, to: string, number = 1): Receipt => ({
  ...{ ...told, device: null, again: false, move: { id, to } },
  ...{ directory, file: `__${ICCID}${number === 1 ? '' : `.${number}`}.json` },
})

const unused = (number = 1) => `${ICCID}${number === 1 ? '' : `.${number}`}.json`

test.each<[string, Receipt[], (string | null)[]]>([
  ['a device that got it again', [handOut('A', true), handOut('A'), handOut('A', true)], ['A']],
  ['a call without a device, which was repeated', [handOut(null), handOut(null, true)], [null]],
  ['a call without a device, of which only the repetition is known', [handOut(null, true)], [null]],
  ['two devices', [handOut('A'), handOut('B', true)], ['A', 'B']],
  ['a device and a call without one', [handOut(null), handOut('A')], ['A', null]],
  ['two calls without one', [handOut(null), handOut(null)], [null, null]],
  ['nobody, and then a device', [handOut(null), { ...handOut('A'), file: `__${ICCID}.2.json` }], ['A']],
])('who has a profile: %s', (_, receipts, devices) =>
  expect(holdersIn(receipts).map(({ device }) => device)).toEqual(devices),
)

test('of a device, what was printed first says who gave it the profile, and when', () => {
  const first = { ...handOut('A'), station: 'line-2' }
  expect(holdersIn([handOut('A', true), first])).toEqual([first])
})

const [out, home, outAgain] = [move('1', '/a', '/b'), move('2', '/b', '/a'), move('3', '/a', '/b', 2)]
const onward = move('2', '/b', '/c')

test('a profile was handed out, after any number of moves', () => {
  expect(holdersIn([out, handOut('A'), home])).toEqual([handOut('A')])
})

test.each<[string, Receipt[], string[]]>([
  ['on', [onward, out], ['2']],
  ['home and away again: it is at one place', [outAgain, home, out], ['3', '1']],
  ['home: receipts alone do not tell which move was the last', [home, out], ['2', '1']],
  ['to one stick at two paths', [move('1', '/a', '/stick'), move('1', '/a', '/media/stick')], ['1']],
])('a profile was moved %s', (_, receipts, ids) => {
  expect(holdersIn(receipts)).toEqual([])
  expect(lastMoves(receipts).map((each) => each.move.id)).toEqual(ids)
})

test('the last directory of any chain, in any order of the receipts', () => {
  const places = fc.array(fc.constantFrom('/a', '/b', '/c', '/d'), { minLength: 2, maxLength: 8 })
  const chains = places.filter((all) => all.every((each, at) => each !== all[at + 1]))
  fc.assert(
    fc.property(chains, fc.infiniteStream(fc.nat()), (chain, keys) => {
      const moves = chain.slice(1).map((to, at) => move(String(at), chain[at] ?? '', to))
      const shuffled = moves
        .map((each) => [keys.next().value, each] as const)
        .sort(([a], [b]) => a - b)
        .map(([, each]) => each)
      const ends = new Set(lastMoves(shuffled).map((each) => each.move.to))
      expect(ends).toContain(chain.at(-1))
      if (chain[0] !== chain.at(-1)) expect(ends.size).toBe(1)
    }),
  )
})

test.each<[string, Receipt[], file: string, arrived: string[], denied: string[]]>([
  ['was handed out', [handOut('A')], unused(), [], ['A']],
  ['was handed out after it had arrived', [out, handOut('A')], unused(), ['1'], ['A']],
  ['has left', [out], unused(), [], ['1']],
  ['has arrived, wherever the directory is today', [out], unused(), ['1'], []],
  ['has arrived by the last move', [onward, out], unused(), ['2'], []],
  ['has arrived and left: the directory comes from a backup', [onward, out], unused(), ['1'], ['2']],
  ['came home', [home, out], unused(2), ['2'], []],
  ['came home, and the other directory comes from a backup', [home, out], unused(), ['1'], ['2']],
  ['came home and left again', [outAgain, home, out], unused(2), ['1', '3'], []],
  ['left again, and comes from a backup', [outAgain, home, out], unused(2), ['2'], ['3']],
  // Another stick has the path of that one now.
  ['left again, in the backup of a stick', [outAgain, home, out], unused(), ['1'], ['2']],
  ['left again, in a backup of the time before', [outAgain, home, out], unused(), [], ['3', '2', '1']],
  ['has left under a higher number', [move('1', '/a', '/b', 2)], unused(), [], ['1']],
  // Nobody knows whether one stick has two paths, so it is named.
  ['may have arrived', [move('1', '/a', '/stick'), move('2', 'E:\\', '/c')], unused(), ['2'], ['1']],
])('an unused profile in a directory %s', (_, receipts, file, arrived, denied) => {
  const found = deniedBy(receipts, { name: file, stored: '' }, new Set(arrived))
  expect(found.map((each) => each.move?.id ?? each.device)).toEqual(denied)
})

describe('devices with several ICCIDs', () => {
  const several = (...all: [device: string, iccid: string][]) => {
    const groups = new Groups()
    for (const [number, [device]] of all.entries()) groups.add(device, number)
    const statementAt = (number: number) => {
      const [device, iccid] = all[number] ?? []
      return device && iccid ? { ...handOut(device), iccid } : undefined
    }
    return [...withSeveralIccids(groups, statementAt)].map((each) => each.map(({ iccid }) => iccid))
  }

  test('are found, each with every ICCID', () =>
    expect(several(['A', '1'], ['B', '3'], ['A', '2'], ['B', '3'])).toEqual([['1', '2']]))

  test('two serial numbers with one hash are two devices', () =>
    // FNV-1a of both is the same.
    expect(several(['costarring', '1'], ['liquid', '2'])).toEqual([]))
})

test('numbers come in groups of one key, the lowest first', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(40)), (keys) => {
      const groups = new Groups()
      for (const [number, key] of keys.entries()) groups.add(`key ${key}`, number)
      const expected = [...Map.groupBy(keys.keys(), (number) => keys[number]).values()]
      const byFirst = (a: number[], b: number[]) => (a[0] ?? 0) - (b[0] ?? 0)
      const found = groups.read(
        (number) => number,
        (number) => String(keys[number]),
      )
      expect([...found].sort(byFirst)).toEqual(expected)
    }),
  )
})
