/** How a shift begins and ends, and the stock between: the lines that a person reads. */
import { resolve } from 'node:path'
import { look, records, stationName } from '../store/directory.ts'
import { several } from '../words.ts'
import type { Settings, Shift } from './settings.ts'

const MOST_NAMED = 20

/** Local time, to the minute. In Sweden, it is written as in ISO 8601. */
export const minuteOf = (time: string): string => new Date(time).toLocaleString('sv-SE').slice(0, 16)

/** To find what has not passed can take seconds: it comes last. */
export function* banner({ directory, keyPath, receipt, ports, program, size, baud }: Shift) {
  const how = program === undefined ? `, ${baud} baud` : size > 1 ? `, panel of ${size}` : ''
  yield `Station:     ${stationName()}`
  yield `Profiles:    ${resolve(directory)}, ${look(directory).unused.length} unused`
  yield `Key:         ${resolve(keyPath)}`
  yield `Receipts:    ${resolve(receipt)}`
  yield `${program ? 'Program:' : 'Ports:  '}     ${program ?? ports.join(' ')}${how}`
  const all = records(directory).filter(({ results }) => results.at(-1)?.result !== 'pass')
  const open = all.map(({ device }) => device).sort(new Intl.Collator('en', { numeric: true }).compare)
  const names = open.slice(0, MOST_NAMED).join(', ') + (open.length > MOST_NAMED ? ', ...' : '')
  yield `Not passed:  ${several(open.length, 'device')} with a profile${names && `: ${names}`}`
}

/** How many profiles are left. Other stations take some, too. */
export function stockLine({ directory, lowStock }: Settings): string {
  const left = look(directory).unused.length
  return left > lowStock ? `Profiles left: ${left}` : `WARNING: profiles left: ${left}. Fetch more.`
}

/** What became of the devices of a shift. */
export function endLine({ devices }: Shift): string {
  const those = (hasPassed?: boolean) => [...devices.keys()].filter((each) => devices.get(each) === hasPassed)
  const named = (what: string, all: string[]) => (all.length > 0 ? `; ${what}: ${all.join(', ')}` : '')
  const passed = `${several(those(true).length, 'device')} passed`
  return `End of the shift: ${passed}${named('not passed', those(false))}${named('not programmed', those())}`
}
