import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { banner, endLine, minuteOf, stockLine } from '../../src/station/report.ts'
import type { Shift } from '../../src/station/settings.ts'
import { addResult, makeRecords } from '../../src/store/directory.ts'
import { directoryOf, someProfiles, temporaryDirectory } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'

const [TIME, LATER] = ['2026-03-01T06:00:00.000Z', '2026-03-01T07:00:00.000Z']

afterEach(() => void vi.unstubAllEnvs())

const shiftWith = (changes: Partial<Shift>) =>
  ({
    ...{ keyPath: 'softsim.pem', receipt: 'r.jsonl', ports: [], program: './program-device', size: 1 },
    ...{ directory: temporaryDirectory(), baud: 115_200, lowStock: 20, devices: new Map(), ...changes },
  }) as Shift

/** A directory that has given so many devices a profile. */
async function directoryWith(count: number): Promise<string> {
  const directory = temporaryDirectory()
  await makeRecords(
    directory,
    Array.from({ length: count }, (_, n) => ({ device: `SN-${n + 1}`, iccid: iccid(n + 1) })),
  )
  return directory
}

const shown = (changes: Partial<Shift>) => [...banner(shiftWith(changes))]

test.each([
  ['UTC', '2026-03-01 23:30'],
  ['Asia/Kolkata', '2026-03-02 05:00'],
  ['America/New_York', '2026-03-01 18:30'],
])('a time is said as clocks in %s show it, without its seconds', (zone, expected) => {
  vi.stubEnv('TZ', zone)
  expect(minuteOf('2026-03-01T23:30:59.999Z')).toBe(expected)
})

test('the beginning of a shift says what is used, in full', () => {
  vi.stubEnv('SOFTSIM_STATION', '')
  const directory = directoryOf(someProfiles(2))
  expect(shown({ directory })).toEqual([
    `Station:     ${hostname()}`,
    `Profiles:    ${directory}, 2 unused`,
    `Key:         ${resolve('softsim.pem')}`,
    `Receipts:    ${resolve('r.jsonl')}`,
    'Program:     ./program-device',
    'Not passed:  0 devices with a profile',
  ])
  vi.stubEnv('SOFTSIM_STATION', 'line-7')
  expect(shown({ directory })[0]).toBe('Station:     line-7')
})

test('of a panel, its size is said; of ports, all of them and their speed', () => {
  expect(shown({ size: 2 })[4]).toBe('Program:     ./program-device, panel of 2')
  const ports = { program: undefined, ports: ['/dev/ttyUSB0', '/dev/ttyUSB1'], size: 2, baud: 9600 }
  expect(shown(ports)[4]).toBe('Ports:       /dev/ttyUSB0 /dev/ttyUSB1, 9600 baud')
})

test('the first twenty devices that have not passed last are named at the beginning', async () => {
  const directory = await directoryWith(23)
  addResult(directory, 'SN-1', { result: 'pass', station: 'line-1', time: TIME })
  addResult(directory, 'SN-2', { result: 'pass', station: 'line-1', time: TIME })
  addResult(directory, 'SN-2', { result: 'fail', station: 'line-1', time: LATER })
  addResult(directory, 'SN-3', { result: 'fail', station: 'line-1', time: TIME })
  addResult(directory, 'SN-3', { result: 'pass', station: 'line-1', time: LATER })
  const open = [2, ...Array.from({ length: 20 }, (_, n) => n + 4)].map((n) => `SN-${n}`)
  expect(shown({ directory }).at(-1)).toBe(
    `Not passed:  21 devices with a profile: ${open.slice(0, 20).join(', ')}, ...`,
  )
  addResult(directory, 'SN-23', { result: 'pass', station: 'line-1', time: TIME })
  expect(shown({ directory }).at(-1)).toBe(
    `Not passed:  20 devices with a profile: ${open.slice(0, 20).join(', ')}`,
  )
})

test('few profiles are a warning from the number on that is given', () => {
  const directory = directoryOf(someProfiles(3))
  const lines = [2, 3].map((lowStock) => stockLine(shiftWith({ directory, lowStock })))
  expect(lines).toEqual(['Profiles left: 3', 'WARNING: profiles left: 3. Fetch more.'])
})

test.each<[string, [string, boolean | undefined][], string]>([
  ['nothing', [], 'End of the shift: 0 devices passed'],
  ['one that has passed', [['SN-1', true]], 'End of the shift: 1 device passed'],
  [
    'some of each kind, in the order in which they were scanned',
    [
      ...[['SN-9', false] as const, ['NOREAD (refused)', undefined] as const],
      ...[['SN-3', true] as const, ['SN-2', true] as const, ['SN-1', false] as const],
      ['SN-0', undefined] as const,
    ].map((each) => [...each]),
    'End of the shift: 2 devices passed; not passed: SN-9, SN-1; not programmed: NOREAD (refused), SN-0',
  ],
])('the end of a shift counts and names devices: %s', (_, devices, expected) => {
  expect(endLine(shiftWith({ devices: new Map(devices) }))).toBe(expected)
})
