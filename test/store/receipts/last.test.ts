import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { deniedBy, holdersIn, lastMoves, withSeveralIccids } from '../../../src/store/receipts/last.ts'
import { Groups, type Receipt } from '../../../src/store/receipts/read-receipts.ts'
import { directoryWith, MOVED, TOMB } from '../../support/store.ts'

const ICCID = '8988'

/** Clocks say nothing. */
const told = { time: '2026', station: 'line-1', iccid: ICCID, source: 'receipt.jsonl:1' }

const handOut = (device: string | null, again = false): Receipt => ({
  ...{ ...told, device, again, move: undefined },
  ...{ directory: '/any', file: `__${ICCID}.json` },
})

/** @param from the move by which the profile had come */
const move = (id: string, directory: string, to: string, from?: string): Receipt => ({
  ...{ ...told, device: null, again: false, move: { id, to, from } },
  ...{ directory, file: `__${ICCID}.json` },
})

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

const [out, home, outAgain] = [move('1', '/a', '/b'), move('2', '/b', '/a', '1'), move('3', '/a', '/b', '2')]
const onward = move('2', '/b', '/c', '1')

test('a profile was handed out, after any number of moves', () => {
  expect(holdersIn([out, handOut('A'), home])).toEqual([handOut('A')])
})

test.each<[string, Receipt[], string[]]>([
  ['on', [onward, out], ['2']],
  ['home and away again', [outAgain, home, out], ['3']],
  ['home', [home, out], ['2']],
  ['home, and the receipt of the way out is lost', [home], ['2']],
  ['to one stick at two paths', [move('1', '/a', '/stick'), move('1', '/a', '/media/stick')], ['1']],
])('a profile was moved %s', (_, receipts, ids) => {
  expect(holdersIn(receipts)).toEqual([])
  expect(lastMoves(receipts).map((each) => each.move.id)).toEqual(ids)
})

test('the last of any chain, in any order of the receipts', () => {
  const places = fc.array(fc.constantFrom('/a', '/b', '/c', '/d'), { minLength: 2, maxLength: 8 })
  fc.assert(
    fc.property(places, fc.infiniteStream(fc.nat()), (chain, keys) => {
      const moves = chain
        .slice(1)
        .map((to, at) => move(String(at), chain[at] ?? '', to, at === 0 ? undefined : String(at - 1)))
      const shuffled = moves
        .map((each) => [keys.next().value, each] as const)
        .sort(([a], [b]) => a - b)
        .map(([, each]) => each)
      expect(lastMoves(shuffled)).toEqual(moves.slice(-1))
    }),
  )
})

test.each<[string, Receipt[], from: string | undefined, denied: string[]]>([
  ['was handed out', [handOut('A')], undefined, ['A']],
  ['was handed out after it had arrived', [out, handOut('A')], '1', ['A']],
  ['has left', [out], undefined, ['1']],
  ['has arrived, wherever the directory is today', [out], '1', []],
  ['has arrived by the last move', [onward, out], '2', []],
  ['has arrived and left: the directory comes from a backup', [onward, out], '1', ['2']],
  ['came home', [home, out], '2', []],
  ['came home and left again', [outAgain, home, out], '2', ['3']],
  [
    'has left another directory, of another machine, at the same path',
    [move('1', '/p', '/stick'), move('2', '/stick', '/p', '1')],
    '2',
    [],
  ],
  [
    'has come by a stick that had another path',
    [move('1', '/a', '/stick'), move('2', 'E:\\', '/c', '1')],
    '2',
    [],
  ],
])('an unused profile in a directory %s', (_, receipts, from, denied) => {
  const found = deniedBy('/none', receipts, { name: `${ICCID}.json`, stored: JSON.stringify({ from }) })
  expect(found.map((each) => each.move?.id ?? each.device)).toEqual(denied)
})

test('what has come back twice, without a receipt of that, has left before', () => {
  const directory = directoryWith({ [`__${ICCID}.2.json`]: TOMB })
  const again = { name: `${ICCID}.3.json`, stored: '{}' }
  expect(deniedBy(directory, [move(MOVED.move, '/a', '/b')], again)).toEqual([])
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
