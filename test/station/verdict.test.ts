import { expect, test } from 'vitest'
import type { Settings } from '../../src/station/settings.ts'
import { Answer } from '../../src/station/verdict.ts'

const expected = { pass: /OK/, fail: /ERROR/, read: undefined } as Settings
const given = { iccid: '', line: '', device: 'SN-1', isAgain: false }

test('of a line without an end, what was said last is kept', () => {
  const answer = new Answer(expected, given)
  expect(answer.add(`${'.'.repeat(9000)} ERROR`)).toEqual([])
  const [line = ''] = answer.add('\n')
  expect([line.length, answer.judge(line)?.isPassed]).toEqual([4096, false])
})
