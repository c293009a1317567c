import { expect, test } from 'vitest'
import { Hint } from '../../src/store/hint.ts'
import { temporaryDirectory } from '../support/directory.ts'

const ICCIDS = ['89881', '89882', '89883', '89884']

/** A directory with a hint, as several stations have it open. */
function stations(count: number): Hint[] {
  const directory = temporaryDirectory()
  Hint.write(directory, ICCIDS)
  return Array.from({ length: count }, () => Hint.open(directory) as Hint)
}

test('all that one call reserved is given back, however often it reserved', () => {
  const [mine, other] = stations(2)
  expect([mine?.reserve(1), mine?.reserve(2)]).toEqual([['89881'], ['89882', '89883']])
  mine?.giveBack()
  expect(other?.reserve(9)).toEqual(ICCIDS)
  for (const each of [mine, other]) each?.close()
})

test('nothing is given back that another call reserved meanwhile', () => {
  const [mine, other] = stations(2)
  mine?.reserve(1)
  other?.reserve(1)
  mine?.giveBack()
  expect(mine?.reserve(9)).toEqual(['89883', '89884'])
  for (const each of [mine, other]) each?.close()
})
