import { expect, test } from 'vitest'
import { TABLES, warnOfEach } from '../../src/status/print.ts'

const FIELDS = ['device', 'iccid', 'resultTime']
const ROWS = [
  { device: 'SN-1', iccid: '8988', resultTime: null },
  { device: 'a\u001b[2J,"b"', iccid: '89', resultTime: null },
]

test('text has columns as wide as what is in them, without blanks at the end and without empty columns', () => {
  expect(TABLES.text(FIELDS, ROWS)).toBe('device          iccid\nSN-1            8988\na\\u{1b}[2J,"b"  89\n')
  expect(TABLES.text(FIELDS, [])).toBe('device  iccid  result time\n')
})

test('json has an object a line, with all fields and the version', () => {
  expect(TABLES.json(FIELDS, ROWS)).toBe(
    '{"device":"SN-1","iccid":"8988","resultTime":null,"version":1}\n' +
      '{"device":"a\\u001b[2J,\\"b\\"","iccid":"89","resultTime":null,"version":1}\n',
  )
})

test('csv is of RFC 4180, and nothing in it is a formula', () => {
  const devices = ['=1+1', '+1', '-1', '@SUM(A1)', '=cmd|"/c calc"!A0', 'a,=1', 'a"b', '1-1=0', 'a\nb']
  const rows = devices.map((device) => ({ device, iccid: '89' }))
  const lines = TABLES.csv(FIELDS, rows).split('\r\n')
  expect(lines).toEqual([
    'device,iccid,resultTime',
    ...[
      "'=1+1",
      "'+1",
      "'-1",
      "'@SUM(A1)",
      `"'=cmd|""/c calc""!A0"`,
      '"a,=1"',
      '"a""b"',
      '1-1=0',
      'a\\u{a}b',
    ].map((each) => `${each},89,`),
    '',
  ])
})

test('the first twenty of a list are warnings, and -v names the others', () => {
  const said: string[] = []
  const messages = {
    warn: (text: string) => said.push(text),
    tell: (level: number, text: string) => said.push(`${level} ${text}`),
  }
  const names = Array.from({ length: 22 }, (_, n) => `file ${n}`)
  warnOfEach(messages, names, 'files are odd')
  expect(said).toEqual([
    ...names.slice(0, 20),
    '2 more files are odd; -v names them',
    '1 file 20',
    '1 file 21',
  ])
})
