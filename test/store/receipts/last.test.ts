import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Groups } from '../../../src/store/receipts/groups.ts'
import { deniedBy, holdersIn, lastOf, withSeveralIccids } from '../../../src/store/receipts/last.ts'
import type { Receipt } from '../../../src/store/receipts/line.ts'

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

describe('who has a profile', () => {
  const holders = (...receipts: Receipt[]) => holdersIn(receipts).map(({ device }) => device)

  test('a device that got it again', () =>
    expect(holders(handOut('A', true), handOut('A'), handOut('A', true))).toEqual(['A']))

  test('a call without a device, which was repeated', () =>
    expect(holders(handOut(null), handOut(null, true))).toEqual([null]))

  test('only the repetition is known', () => expect(holders(handOut(null, true))).toEqual([null]))

  test('two devices, or a device and a call without one', () => {
    expect(holders(handOut('A'), handOut('B', true))).toEqual(['A', 'B'])
    expect(holders(handOut(null), handOut('A'))).toEqual(['A', null])
    expect(holders(handOut(null), handOut(null))).toEqual([null, null])
  })
})

describe('what became of a profile', () => {
  test('handed out, after any number of moves', () => {
    const receipts = [move('1', '/a', '/b'), handOut('A'), move('2', '/b', '/a')]
    expect(lastOf(receipts)).toEqual({ state: 'handed-out', holders: [handOut('A')] })
  })

  const lastMoves = (...receipts: Receipt[]) => {
    const last = lastOf(receipts)
    return last.state === 'moved' ? last.moves.map((each) => each.move.id) : []
  }

  test('moved on', () => expect(lastMoves(move('2', '/b', '/c'), move('1', '/a', '/b'))).toEqual(['2']))

  test('moved home and away again: it is at one place', () =>
    expect(lastMoves(move('3', '/a', '/b', 2), move('2', '/b', '/a'), move('1', '/a', '/b'))).toEqual([
      '3',
      '1',
    ]))

  test('moved home: receipts alone do not tell which move was the last', () =>
    expect(lastMoves(move('2', '/b', '/a'), move('1', '/a', '/b'))).toEqual(['2', '1']))

  test('a receipt of the same move at another path is no other move', () =>
    expect(lastMoves(move('1', '/a', '/stick'), move('1', '/a', '/media/stick'))).toEqual(['1']))

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
        const last = lastOf(shuffled)
        const ends = new Set(last.state === 'moved' ? last.moves.map((each) => each.move.to) : [])
        expect(ends).toContain(chain.at(-1))
        if (chain[0] !== chain.at(-1)) expect(ends.size).toBe(1)
      }),
    )
  })
})

describe('an unused profile in a directory', () => {
  const denied = (receipts: Receipt[], file: string, ...arrived: string[]) =>
    deniedBy(receipts, file, new Set(arrived)).map((each) => each.move?.id ?? each.device)

  test('was handed out', () => expect(denied([handOut('A')], unused())).toEqual(['A']))

  test('was handed out after it had arrived', () =>
    expect(denied([move('1', '/a', '/b'), handOut('A')], unused(), '1')).toEqual(['A']))

  test('has left', () => expect(denied([move('1', '/a', '/b')], unused())).toEqual(['1']))

  test('has arrived, wherever the directory is today', () => {
    expect(denied([move('1', '/a', '/b')], unused(), '1')).toEqual([])
    expect(denied([move('2', '/b', '/c'), move('1', '/a', '/b')], unused(), '2')).toEqual([])
  })

  test('has arrived and left: the directory comes from a backup', () =>
    expect(denied([move('2', '/b', '/c'), move('1', '/a', '/b')], unused(), '1')).toEqual(['2']))

  const [out, home, outAgain] = [move('1', '/a', '/b'), move('2', '/b', '/a'), move('3', '/a', '/b', 2)]

  test('came home', () => {
    expect(denied([home, out], unused(2), '2')).toEqual([])
    // The other directory comes from a backup of the time before.
    expect(denied([home, out], unused(), '1')).toEqual(['2'])
  })

  test('came home and left again', () => {
    expect(denied([outAgain, home, out], unused(2), '1', '3')).toEqual([])
    expect(denied([outAgain, home, out], unused(2), '2')).toEqual(['3'])
    // The backup of a stick, and another stick has its path now.
    expect(denied([outAgain, home, out], unused(), '1')).toEqual(['2'])
    expect(denied([outAgain, home, out], unused())).toEqual(['2', '1'])
  })

  test('may have arrived, if the same stick has two paths: nobody knows, so it is named', () =>
    expect(denied([move('1', '/a', '/stick'), move('2', 'E:\\', '/c')], unused(), '2')).toEqual(['1']))
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
      expect([...groups].sort(byFirst)).toEqual(expected)
    }),
  )
})
