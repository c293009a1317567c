import fc from 'fast-check'
import { expect, test } from 'vitest'
import { iccidDigits } from '../../src/profile/iccid.ts'
import { IccidList } from '../../src/store/iccid-list.ts'
import { digits } from '../support/arbitrary.ts'

function listOf(iccids: Iterable<string>): IccidList {
  const list = new IccidList()
  for (const each of iccids) list.add(each)
  return list.sort()
}

/** Common ones, as 8 bytes, and others, as text; few enough values that some are the same. */
const iccid = fc
  .tuple(
    fc.oneof(digits(1, 20), fc.constantFrom('8988', '898800000000000000', '89880000000000000001')),
    fc.constantFrom('', '', 'F', 'f'),
  )
  .map((parts) => parts.join(''))

test('returns what was added, each ICCID once, in its first spelling', () => {
  fc.assert(
    fc.property(fc.array(iccid), (iccids) => {
      const firsts = new Map<string, string>()
      for (const each of [...iccids].sort().reverse()) firsts.set(iccidDigits(each) ?? '', each)
      const list = listOf(iccids)
      expect([...list].sort()).toEqual([...firsts.values()].sort())
      expect(list.length).toBe(firsts.size)
      expect(list.slice(0, list.length)).toEqual([...list])
    }),
  )
})

test('the lowest comes first, whatever the others begin with', () => {
  const iccids = [
    '7',
    '88000000000000000001',
    '8999999999999999990F',
    '8900000000000000002',
    '89880000000000000009',
    '89880000000000000010',
    '90000000000000000003',
    '91',
    'x',
  ].sort()
  expect([...listOf(iccids.toReversed())]).toEqual(iccids)
})

test('any slice is that part of the list', () => {
  const place = fc.nat({ max: 25 })
  fc.assert(
    fc.property(fc.array(iccid), place, place, (iccids, from, length) => {
      const list = listOf(iccids)
      expect(list.slice(from, from + length)).toEqual([...list].slice(from, from + length))
    }),
  )
})

test('those that are too short for a device come after the common ones', () => {
  const common = ['88000000000000000001', '89880000000000000009']
  expect([...listOf(['8988', ...common, '9'])]).toEqual([...common, '8988', '9'])
})

test('grows as needed', () => {
  const iccids = Array.from({ length: 5000 }, (_, n) => String(89880000000000000000n + BigInt(n)))
  const list = listOf([...iccids].reverse())
  expect([...list]).toEqual(iccids)
  expect(list.slice(4998, 9999)).toEqual(iccids.slice(4998))
})

test('removes ICCIDs in any spelling, and says which', () => {
  fc.assert(
    fc.property(fc.array(iccid), fc.array(iccid), (some, others) => {
      const list = listOf(some)
      const before = [...list]
      const gone = new Set(others.map(iccidDigits))
      const removed = list.remove(listOf(others))
      expect(removed.sort()).toEqual(before.filter((each) => gone.has(iccidDigits(each))).sort())
      expect([...list]).toEqual(before.filter((each) => !gone.has(iccidDigits(each))))
    }),
  )
})
