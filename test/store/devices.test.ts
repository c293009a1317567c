import { expect, test } from 'vitest'
import { historyOf, recordAll, recordsOf } from '../../src/store/devices.ts'
import { directoryWith } from '../support/store.ts'

test('of several records of a device, the last one comes first', async () => {
  const directory = directoryWith({})
  const texts = [1, 2].map((n) => JSON.stringify({ iccid: `898${n}`, device: 'D', file: `898${n}.json` }))
  for (const [records, text] of texts.entries()) await recordAll(directory, [{ text, records }])
  expect(recordsOf(directory, 'D')).toEqual(texts.reverse())
  // It may claim it yet.
  expect(historyOf(directory, 'd').alike).toEqual(['D'])
})
