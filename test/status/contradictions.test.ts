import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { contradictionsIn, type Place } from '../../src/status/receipts/contradictions.ts'
import type { Receipt } from '../../src/status/receipts/read.ts'

let lines = 0

/** A receipt; each is later than the one before. */
function receipt(iccid: string, device: string | null, again = false): Receipt {
  lines++
  const time = new Date(lines * 1000).toISOString()
  return { time, station: 'line-1', device, iccid, again, move: undefined, source: `receipt.jsonl:${lines}` }
}

const unused = (iccid: string): [string, Place] => [
  iccid,
  { state: 'unused', file: `${iccid}.json`, statement: undefined },
]

function used(iccid: string, device?: string): [string, Place] {
  const file = `__${iccid}.json`
  const statement =
    device === undefined ? undefined : { iccid, device, time: '2026', source: file, again: true }
  return [iccid, { state: 'used', file, statement }]
}

const found = (receipts: Receipt[], ...places: [string, Place][]) =>
  contradictionsIn(receipts, new Map(places)).map(({ problem, iccid, device, file }) =>
    [problem, iccid, device ?? '-', file ?? 'nowhere'].join(' '),
  )

describe('no contradiction', () => {
  test('a device that got its profile again', () =>
    expect(found([receipt('1', 'A'), receipt('1', 'A', true)], used('1', 'A'))).toEqual([]))

  test('a call without a device, which was repeated with --iccid', () =>
    expect(found([receipt('1', null), receipt('1', null, true)], used('1'))).toEqual([]))

  test('what was marked as used by hand, or is in another directory', () =>
    expect(found([receipt('1', 'A'), receipt('2', 'B')], used('1'))).toEqual([]))
})

test('an ICCID on two devices, by receipts', () =>
  expect(found([receipt('1', 'A'), receipt('1', 'B'), receipt('2', 'C')], used('2', 'C'))).toEqual([
    'two-devices 1 A nowhere',
    'two-devices 1 B nowhere',
  ]))

test('an ICCID on two devices, by a receipt and the used file', () =>
  expect(found([receipt('1', 'A')], used('1', 'B'))).toEqual([
    'two-devices 1 A __1.json',
    'two-devices 1 B __1.json',
  ]))

test('an ICCID that was handed out twice without a device, or once without and once with one', () => {
  expect(found([receipt('1', null), receipt('1', null)], used('1'))).toHaveLength(2)
  expect(found([receipt('1', null), receipt('1', 'A')], used('1', 'A'))).toHaveLength(3)
})

test('what was handed out is unused: a backup has forgotten it', () =>
  expect(found([receipt('1', 'A'), receipt('2', null)], unused('1'), unused('2'))).toEqual([
    'unused 1 A 1.json',
    'unused 2 - 2.json',
  ]))

test('a device with two ICCIDs, by receipts or by used files', () => {
  expect(found([receipt('1', 'A'), receipt('2', 'A', true)])).toEqual([
    'two-profiles 1 A nowhere',
    'two-profiles 2 A nowhere',
  ])
  expect(found([receipt('1', 'A')], used('2', 'A'))).toHaveLength(2)
  expect(found([], used('1', 'A'), used('2', 'A'))).toHaveLength(2)
})

test('the statements about a problem stand together, the oldest first', () => {
  const [first, second, third, fourth] = [
    receipt('1', 'A'),
    receipt('2', 'B'),
    receipt('1', 'C'),
    receipt('2', 'D'),
  ]
  const sources = contradictionsIn([fourth, third, second, first], new Map()).map(({ source }) => source)
  expect(sources).toEqual([first, third, second, fourth].map(({ source }) => source))
})

test('if each device gets one profile, nothing contradicts, however often it is repeated', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(9), fc.boolean())), (calls) => {
      const receipts = calls.map(([n, again]) => receipt(`${n}`, `SN-${n}`, again))
      const places = calls.map(([n]) => used(`${n}`, `SN-${n}`))
      expect(contradictionsIn(receipts, new Map(places))).toEqual([])
    }),
  )
})
