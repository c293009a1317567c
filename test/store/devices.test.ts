import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  addResult,
  isTwin,
  makeRecords,
  recordOf,
  records,
  resultsOf,
  twinOf,
} from '../../src/store/devices.ts'
import { lot } from '../support/lot.ts'
import { iccid } from '../support/profiles.ts'

const record = (device: string, n: number) => ({ device, iccid: iccid(n) })

test('a device has one record, and the first one stays', async () => {
  const directory = lot(0)
  expect(recordOf(directory, 'D')).toBeUndefined()
  const both = [record('D', 1), record('E', 2)]
  expect(await makeRecords(directory, both)).toEqual(both)
  expect(await makeRecords(directory, [record('E', 3), record('D', 1)])).toEqual([record('D', 1)])
  expect(recordOf(directory, 'D')).toMatchObject(record('D', 1))
  expect(
    records(directory)
      .map(({ device }) => device)
      .sort(),
  ).toEqual(['D', 'E'])
  expect(readdirSync(join(directory, '.devices')).every((name) => !name.startsWith('~'))).toBe(true)
})

test('three serial numbers of which two begin alike all have a record', async () => {
  const directory = lot(0)
  for (const [at, device] of ['=W1', 'W1', 'w1'].entries()) {
    const own = { ...record(device, at + 1), isNew: true }
    expect(await makeRecords(directory, [own])).toEqual([own])
  }
  expect(records(directory)).toHaveLength(3)
})

test.each([
  ['SN-0001', 'sn-0001'],
  ['00042', '42'],
  ['Gera\u0308t', 'Ger\u00e4t'],
  ['SN-0042-007', 'sn-42-7'],
  ['SN007', 'SN7'],
  ['\uff33N-1', 'SN-1'],
])('%s and %s are found to be twins, and both can have a record', async (one, other) => {
  const directory = lot(0)
  await makeRecords(directory, [record(one, 1)])
  expect(isTwin(one, other)).toBe(true)
  expect(isTwin(one, one)).toBe(false)
  expect(twinOf(directory, other)).toBe(one)
  expect(twinOf(directory, one)).toBeUndefined()
  expect(recordOf(directory, other)).toBeUndefined()
  // Without a word that it is another device, the first one has it.
  expect(await makeRecords(directory, [record(other, 2)])).toEqual([])
  const own = { ...record(other, 2), isNew: true }
  expect(await makeRecords(directory, [own])).toEqual([own])
  // It keeps what it has, also where nobody says it again.
  expect(await makeRecords(directory, [record(other, 2)])).toEqual([record(other, 2)])
  expect(recordOf(directory, one)).toMatchObject(record(one, 1))
  expect(recordOf(directory, other)).toMatchObject(record(other, 2))
})

test.each([
  ['SN-1', 'SN-10'],
  ['SN-1', 'SN1'],
  ['100', '1'],
  ['SN-101', 'SN-11'],
])('%s and %s are two devices', (one, other) => {
  expect(isTwin(one, other)).toBe(false)
})

test('a record that does not say whose it is names no device', async () => {
  const directory = lot(0)
  await makeRecords(directory, [record('D', 1)])
  const [hash = ''] = readdirSync(join(directory, '.devices'))
  writeFileSync(join(directory, '.devices', hash, iccid(1)), '{}')
  expect(records(directory)).toEqual([])
})

test('a record that a power cut has emptied gives its device no other one', async () => {
  const directory = lot(0)
  await makeRecords(directory, [record('D', 1)])
  const [hash = ''] = readdirSync(join(directory, '.devices'))
  writeFileSync(join(directory, '.devices', hash, iccid(1)), '')
  const damaged = expect.objectContaining({ outcome: 'disk', message: expect.stringMatching(/ is damaged$/) })
  expect(() => recordOf(directory, 'D')).toThrow(damaged)
  await expect(makeRecords(directory, [record('D', 2)])).rejects.toThrow(damaged)
  expect(twinOf(directory, 'd')).toBe(undefined)
  // Restore makes another one, by the receipts.
  await makeRecords(directory, [{ ...record('D', 1), isNew: true }])
  expect(recordOf(directory, 'D')?.iccid).toBe(iccid(1))
})

test('the last result stays the last one if the clock of a station is behind, and foreign files are none', async () => {
  const directory = lot(0)
  await makeRecords(directory, [record('D', 1)])
  const result = (time: string, what: 'pass' | 'fail') => ({ result: what, station: 'A', time, note: 'n' })
  addResult(directory, 'D', result('2026-11-26T10:00:01.000Z', 'pass'))
  addResult(directory, 'D', result('2026-11-26T10:00:00.000Z', 'fail'))
  const [hash = ''] = readdirSync(join(directory, '.devices'))
  for (const name of ['@eaDir', '~dead']) mkdirSync(join(directory, '.devices', name))
  writeFileSync(join(directory, '.devices', '~dead', iccid(2)), '{"device":"E"}')
  for (const name of ['.DS_Store', 'r1-x']) writeFileSync(join(directory, '.devices', hash, name), 'x')
  const odd = [{ result: 'yes' }, { station: 1 }, { time: 1 }]
  for (const [at, more] of odd.entries())
    writeFileSync(
      join(directory, '.devices', hash, `r${at + 2}-x`),
      JSON.stringify({ ...result('2026-11-26T10:00:00.000Z', 'pass'), ...more }),
    )
  expect(resultsOf(directory, 'D').map((each) => each.result)).toEqual(['pass', 'fail'])
  // What a receipt brings back has its own place.
  addResult(
    directory,
    'D',
    result('2026-11-26T09:00:00.000Z', 'fail'),
    Date.parse('2026-11-26T09:00:00.000Z'),
  )
  expect(resultsOf(directory, 'D').map((each) => each.result)).toEqual(['fail', 'pass', 'fail'])
  expect(records(directory)).toMatchObject([record('D', 1)])
  expect(() => addResult(directory, 'E', result('2026-11-26T10:00:00.000Z', 'pass'))).toThrow('is a copy')
})

test('results have the order in which they were added, whatever the clocks of the stations say', async () => {
  const directory = lot(0)
  await makeRecords(directory, [record('D', 1)])
  const times = [5, 4, 3, 2, 1, 0].map((n) => `2026-11-26T10:00:0${n}.000Z`)
  for (const time of times) addResult(directory, 'D', { result: 'pass', station: 'A', time })
  expect(resultsOf(directory, 'D').map(({ time }) => time)).toEqual(times)
  // As numbers, and not as texts.
  for (const n of [9, 10]) addResult(directory, 'D', { result: 'fail', station: 'A', time: `${n}` }, n)
  expect(resultsOf(directory, 'D').map(({ time }) => time)).toEqual(['9', '10', ...times])
  // Another program may have written a note that is no text.
  addResult(directory, 'D', { result: 'fail', station: 'A', time: '1', note: 1 as never }, 1)
  expect(resultsOf(directory, 'D')[0]).toEqual({ result: 'fail', station: 'A', time: '1', note: undefined })
})

test('a call that slept so long that its draft is gone fails, and is no bug', async () => {
  const directory = lot(0)
  await makeRecords(directory, [record('D', 1)])
  const made = makeRecords(directory, [record('E', 2)])
  const draft = readdirSync(join(directory, '.devices')).find((name) => name.startsWith('~')) ?? ''
  rmSync(join(directory, '.devices', draft), { recursive: true })
  await expect(made).rejects.toMatchObject({
    ...{ outcome: 'disk', message: "the record of device E can't be made" },
    hint: 'run the same command again',
  })
  expect(recordOf(directory, 'E')).toBe(undefined)
})
