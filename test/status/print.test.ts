import { describe, expect, test } from 'vitest'
import { TABLES } from '../../src/status/print.ts'
import { type Summary, statusIn } from '../../src/status/status.ts'

const FIELDS = ['claimed', 'station', 'device', 'iccid'] as const

const RECORDS = [
  { claimed: '2026-11-20', station: 'line-4', device: 'SN-1', iccid: '8988' },
  { claimed: '2026-11-21', station: '', device: 'a\u001b[2J,"b"', iccid: '89' },
]
const COUNTS = {
  unused: 1,
  used: 2,
  unfinished: 3,
  notProfiles: 4,
  received: 5,
  moved: 12,
  inTransit: 13,
  unanswered: 15,
}
const CHECKED = { checked: 6, usable: 7, damaged: 8, locked: 9, unfit: 10, held: 11, unreadable: 14 }

const devices = (format: keyof typeof TABLES) => [...TABLES[format](FIELDS, RECORDS)].join('')

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
    'claimed,station,device,iccid,version\r\n2026-11-20,line-4,SN-1,8988,1\r\n2026-11-21,,"a\\u{1b}[2J,""b""",89,1\r\n',
  )
})

test.each(['=', '+', '-', '@'])('a text in CSV that begins with %s is no formula', (sign) => {
  const record = { claimed: '', station: `a${sign}`, device: `${sign}1`, iccid: '' }
  expect([...TABLES.csv(FIELDS, [record])][1]).toBe(`,a${sign},'${sign}1,,1\r\n`)
})

test('devices as JSON: a line for each, as it is recorded', () => {
  const lines = devices('json').trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toEqual(RECORDS.map((each) => ({ ...each, version: 1 })))
})

describe('the counts', () => {
  const summary = (changes: Partial<Summary> = {}): Summary[] => [
    { directory: 'D\n', counts: COUNTS, checked: CHECKED, identity: 'original', ...changes },
  ]
  const text = (changes?: Partial<Summary>) => statusIn('text', summary(changes)).split('\n')
  const names = (lines: string[]) => lines.map((line) => line.replace(/ +\d+$/, '').trim())

  test('as text: the fields in words', () => {
    expect(names(text())).toEqual([
      'D\\u{a}',
      ...['unused', 'used', 'unfinished', 'moved', 'in transit', 'not profiles', 'received', 'unanswered'],
      ...['checked', 'usable', 'damaged', 'unreadable', 'locked', 'unfit', 'held', ''],
    ])
    expect(text()[5]).toBe('  in transit           13')
  })

  test('as text, a copy has a line that says so', () => {
    expect(text({ identity: 'copy' })[1]).toBe('  a copy, or from a backup: nothing is handed out of it')
    expect(text({ identity: 'carried' })[1]).toBe(
      '  a copy of a directory that was not used: use only one of them',
    )
  })

  test('as text, what there is none of is left out, except unused profiles', () => {
    const none = {
      unused: 0,
      used: 3,
      unfinished: 0,
      notProfiles: 0,
      received: 0,
      moved: 0,
      inTransit: 0,
      unanswered: 0,
    }
    expect(names(text({ counts: none, checked: undefined }))).toEqual(['D\\u{a}', 'unused', 'used', ''])
  })

  test('for scripts, newer ones come last', () => {
    const numbers = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 'original', 15, 1]
    expect(Object.values(JSON.parse(statusIn('json', summary()))).slice(1)).toEqual(numbers)
    expect(statusIn('csv', summary())).toMatch(
      /\r\nD\\u\{a\},1,2,3,4,5,6,7,8,9,10,11,12,13,14,original,15,1\r\n$/,
    )
    expect(statusIn('csv', summary({ checked: undefined }))).toMatch(
      /,1,2,3,4,5,,,,,,,12,13,,original,15,1\r\n$/,
    )
  })

  test('of several directories, and of all of them', () => {
    const all = [...summary(), ...summary({ directory: null })]
    expect(names(statusIn('text', all).split('\n'))).toContain('total')
    const lines = statusIn('json', all).trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line).directory)).toEqual(['D\n', null])
    expect(statusIn('csv', all).split('\r\n')[2]).toMatch(/^,1,2,/)
  })
})
