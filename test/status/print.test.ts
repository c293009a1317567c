import { expect, test } from 'vitest'
import { DEVICE_FIELDS } from '../../src/status/devices.ts'
import { PRINTERS } from '../../src/status/print.ts'

const RECORDS = [
  { claimed: '2026-11-20', station: 'line-4', device: 'SN-1', iccid: '8988' },
  { claimed: '2026-11-21', station: '', device: 'a\u001b[2J,"b"', iccid: '89' },
]
const COUNTS = { unused: 1, used: 2, unfinished: 3, notProfiles: 4, received: 5, moved: 12, inTransit: 13 }
const CHECKED = {
  checked: 6,
  usable: 7,
  faults: { damaged: 8, locked: 9, unfit: 10, held: 11, unreadable: 14 },
}

const devices = (format: keyof typeof PRINTERS) => [...PRINTERS[format].list(DEVICE_FIELDS, RECORDS)].join('')

test('devices as text: columns as wide as what is in them, without blanks at the end', () => {
  expect(devices('text')).toBe(
    [
      'claimed     station  device          iccid',
      '2026-11-20  line-4   SN-1            8988',
      '2026-11-21           a\\u{1b}[2J,"b"  89',
      '',
    ].join('\n'),
  )
})

test('devices as CSV (RFC 4180), and nothing in it that a terminal would obey', () => {
  expect(devices('csv')).toBe(
    'claimed,station,device,iccid\r\n2026-11-20,line-4,SN-1,8988\r\n2026-11-21,,"a\\u{1b}[2J,""b""",89\r\n',
  )
})

test.each(['=', '+', '-', '@'])('a text in CSV that begins with %s is no formula', (sign) => {
  const record = { claimed: '', station: `a${sign}`, device: `${sign}1`, iccid: '' }
  expect([...PRINTERS.csv.list(DEVICE_FIELDS, [record])][1]).toBe(`,a${sign},'${sign}1,\r\n`)
})

test('devices as JSON: a line for each, as it is recorded', () => {
  const lines = devices('json').trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toEqual(RECORDS)
})

test('the counts; for scripts, newer ones come last', () => {
  const numbers = (text: string) => text.match(/\b\d+\b/g)?.map(Number)
  const ofFiles = [1, 2, 3, 12, 13, 4, 5]
  expect(numbers(PRINTERS.text.status('D\n', COUNTS, CHECKED))).toEqual([...ofFiles, 6, 7, 8, 14, 9, 10, 11])
  expect(numbers(PRINTERS.json.status('D', COUNTS, CHECKED))).toEqual([
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
  ])
  expect(PRINTERS.csv.status('D', COUNTS, CHECKED)).toMatch(/\r\nD,1,2,3,4,5,6,7,8,9,10,11,12,13,14\r\n$/)
  expect(PRINTERS.csv.status('D', COUNTS, undefined)).toMatch(/\r\nD,1,2,3,4,5,,,,,,,12,13,\r\n$/)
  expect(numbers(PRINTERS.text.status('D', COUNTS, undefined))).toEqual(ofFiles)
  expect(PRINTERS.text.status('D\n', COUNTS, undefined).split('\n')[0]).toBe('D\\u{a}')
})
