import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { claimAll, usedText } from '../../src/store/claim.ts'
import { historyOf, recordAll, recordedIccids, recordsOf } from '../../src/store/devices.ts'
import { temporaryDirectory } from '../support/directory.ts'

const profile = (n: number) => ({
  name: `898${n}.json`,
  stored: JSON.stringify({ iccid: `898${n}`, profile: 'AAAA' }),
})
const hash = (device: string) => createHash('sha256').update(device).digest('hex')

let directory = ''
const write = (name: string, text: string) => writeFileSync(join(directory, name), text)
const record = async (device: string, n: number, records = 0) => {
  const text = usedText(profile(n), device)
  const [outcome] = await recordAll(directory, [{ text, records }])
  return { text, outcome }
}
/** The profile in force, the state of its file, and how many records there are. */
const known = (device: string) => {
  const { assignment, records } = historyOf(directory, device)
  return [assignment?.name, assignment?.use.state, records]
}

beforeEach(() => {
  directory = temporaryDirectory()
  for (const n of [1, 2, 3]) write(profile(n).name, profile(n).stored)
})

test('a device has nothing; then what is recorded first, whoever comes later', async () => {
  expect(known('D')).toEqual([undefined, undefined, 0])
  const { text } = await record('D', 1)
  expect((await record('D', 2)).outcome).toEqual({ state: 'others' })
  expect(known('D')).toEqual(['8981.json', 'unused', 1])
  expect(historyOf(directory, 'D').assignment?.text).toBe(text)
  await claimAll(directory, [text])
  expect([known('D'), known('E')]).toEqual([
    ['8981.json', 'used', 1],
    [undefined, undefined, 0],
  ])
  expect(recordsOf(directory, 'D')).toEqual([text])
})

test('if the used file names anybody else, the next record is in force; a used file that names the device, for ever', async () => {
  const first = await record('D', 1)
  await claimAll(directory, [usedText(profile(1), 'E')])
  expect(known('D')).toEqual([undefined, undefined, 1])
  const second = await record('D', 2, 1)
  await claimAll(directory, [second.text])
  expect(known('D')).toEqual(['8982.json', 'used', 2])
  // A backup brings the first one back: the later one counts.
  write('__8981.json', first.text)
  expect(known('D')).toEqual(['8982.json', 'used', 2])
  // What was recorded after it, and is not claimed, does not.
  write(`.devices/${hash('d')}.3`, usedText(profile(3), 'D'))
  expect(known('D')).toEqual(['8982.json', 'used', 3])
  expect(recordedIccids(directory)).toEqual(new Set(['8981', '8982', '8983']))
  expect(recordsOf(directory, 'D').map((text) => JSON.parse(text).iccid)).toEqual(['8983', '8982', '8981'])
})

test('a record and a claim that killed calls have decided count; the record is finished', async () => {
  const text = usedText(profile(1), 'D')
  const claims = join(directory, '.claims')
  const key = `${hash('d')}.1`
  mkdirSync(join(directory, '.devices'))
  for (const each of [key, '8981']) {
    mkdirSync(join(claims, each), { recursive: true })
    writeFileSync(join(claims, each, 'nonce'), text)
  }
  expect(known('D')).toEqual(['8981.json', 'claimed', 1])
  expect([readdirSync(join(directory, '.devices')), readdirSync(claims)]).toEqual([[key], ['8981']])
})

describe('devices that differ in upper and lower case only', () => {
  const alike = (device: string) => historyOf(directory, device).alike

  test('share a chain, of which each has its own records, and know each other', async () => {
    const first = await record('SN-a', 1)
    await claimAll(directory, [first.text])
    expect([known('SN-A'), alike('SN-A')]).toEqual([[undefined, undefined, 1], ['SN-a']])
    expect((await record('SN-A', 2)).outcome).toEqual({ state: 'others' })
    await record('SN-A', 2, 1)
    expect([known('SN-A'), known('SN-a')]).toEqual([
      ['8982.json', 'unused', 2],
      ['8981.json', 'used', 2],
    ])
    expect([alike('SN-A'), alike('SN-a'), alike('sn-a')]).toEqual([['SN-a'], ['SN-A'], ['SN-a', 'SN-A']])
    expect(recordsOf(directory, 'SN-A').map((text) => JSON.parse(text).iccid)).toEqual(['8982'])
  })

  test('a record that came to nothing is no profile', async () => {
    await record('d', 1)
    await claimAll(directory, [usedText(profile(1), 'E')])
    expect([known('D'), alike('D')]).toEqual([[undefined, undefined, 1], []])
  })
})

test('a profile whose files are gone is still the device’s', async () => {
  await record('D', 7)
  expect(known('D')).toEqual(['8987.json', 'gone', 1])
})

describe('what earlier versions left', () => {
  beforeEach(() => mkdirSync(join(directory, '.devices')))

  test.each(['', '{"iccid":"89'])(
    'a torn record is what the one used file says that names the device: %j',
    (torn) => {
      const text = usedText(profile(1), 'D')
      write(`.devices/${hash('D')}.1`, torn)
      expect(() => known('D')).toThrow('of device D is not complete')
      write('__8981.json', text)
      expect(known('D')).toEqual(['8981.json', 'used', 0])
      write('__8982.json', usedText(profile(2), 'D'))
      expect(() => known('D')).toThrow('of device D is not complete')
      expect(recordsOf(directory, 'D')).toEqual([])
    },
  )

  test('records by the hash of a serial number as it is come before those of today', async () => {
    write(`.devices/${hash('D')}.1`, usedText(profile(1), 'D'))
    expect(known('D')).toEqual(['8981.json', 'unused', 0])
    expect(known('d')).toEqual([undefined, undefined, 0])
    await claimAll(directory, [usedText(profile(1), 'E')])
    const { text } = await record('D', 2)
    expect(known('D')).toEqual(['8982.json', 'unused', 1])
    await claimAll(directory, [text])
    expect(known('D')).toEqual(['8982.json', 'used', 1])
    expect(recordsOf(directory, 'D').map((each) => JSON.parse(each).iccid)).toEqual(['8982', '8981'])
  })

  test('a note of what a killed call had begun counts if the used file says so too', () => {
    write(`.devices/${hash('D')}.begun`, '8981.json')
    expect(known('D')).toEqual([undefined, undefined, 0])
    write('__8981.json', usedText(profile(1), 'E'))
    expect(known('D')).toEqual([undefined, undefined, 0])
    write('__8981.json', usedText(profile(1), 'D'))
    expect(known('D')).toEqual(['8981.json', 'used', 0])
  })

  test('a used file that a power cut has torn is the device’s as far as it names it', async () => {
    const { text } = await record('D', 1)
    write('__8981.json', text.slice(0, text.indexOf('"station"')))
    expect(known('D')).toEqual(['8981.json', 'torn', 1])
    write('__8981.json', text.slice(0, 9))
    expect(known('D')).toEqual([undefined, undefined, 1])
  })
})
