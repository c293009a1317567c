/** What a person reads of a shift: how it begins, what became of the devices, and how it ends. */
import { resolve } from 'node:path'
import { records, resultsOf, stationName } from '../store/directory.ts'
import { several } from '../words.ts'
import type { Settings, Shift } from './settings.ts'

/** The most devices that the banner names. */
const MOST_NAMED = 20

/** Local time, to the minute. */
export function minuteOf(time: string): string {
  const at = new Date(time)
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 16).replace('T', ' ')
}

export function banner({ directory, keyPath, receipt, ports, program, size, baud, left }: Shift): string {
  const devices = records(directory).map(({ device }) => device)
  const open = devices.filter((device) => resultsOf(directory, device).at(-1)?.result !== 'pass').sort()
  const names = open.length > 0 ? `: ${open.slice(0, MOST_NAMED).join(', ')}` : ''
  const panel = size > 1 ? `, panel of ${size}` : ''
  return [
    `Station:     ${stationName()}`,
    `Profiles:    ${resolve(directory)}, ${left} unused`,
    `Key:         ${resolve(keyPath)}`,
    `Receipts:    ${resolve(receipt)}`,
    program === undefined
      ? `Ports:       ${ports.join(' ')}, ${baud} baud`
      : `Program:     ${program}${panel}`,
    `Not passed:  ${several(open.length, 'device')} with a profile${names}${open.length > MOST_NAMED ? ', ...' : ''}`,
  ].join('\n')
}

/** How many profiles are left. */
export function stockLine(left: number, { size, lowStock }: Settings): string {
  if (left < size && size > 1)
    return `WARNING: profiles left: ${left}. Fetch more, or type skip for slots that get none.`
  return left <= lowStock ? `WARNING: profiles left: ${left}. Fetch more.` : `Profiles left: ${left}`
}

/** What became of the devices of a shift. */
export function endLine({ devices, refused, keyboard }: Shift): string {
  const open = notPassed(devices)
  const passed = `${several(devices.size - open.length, 'device')} passed`
  const unused =
    keyboard.isTerminal || refused.length === 0 ? '' : `; no serial numbers: ${refused.join(', ')}`
  return `End of the shift: ${passed}${open.length > 0 ? `; not passed: ${open.join(', ')}` : ''}${unused}`
}

export const notPassed = (devices: ReadonlyMap<string, boolean>): string[] =>
  [...devices].filter(([, hasPassed]) => !hasPassed).map(([device]) => device)
