/** The widths of columns, which transcripts do not compare. */
import { expect, test } from 'vitest'
import { TABLES } from '../../src/status/print.ts'
import { statusIn } from '../../src/status/status.ts'

test('devices as text: columns as wide as what is in them, without blanks at the end', () => {
  const records = [
    { claimed: '2026-11-20', station: 'line-4', device: 'SN-1', iccid: '8988' },
    { claimed: '2026-11-21', station: '', device: 'a\u001b[2J,"b"', iccid: '89' },
  ]
  const fields = ['claimed', 'station', 'device', 'iccid']
  expect([...TABLES.text(fields, records)].join('')).toBe(
    [
      'claimed     station  device          iccid',
      '2026-11-20  line-4   SN-1            8988',
      '2026-11-21           a\\u{1b}[2J,"b"  89',
      '',
    ].join('\n'),
  )
})

test('the counts as text: the fields in words', () => {
  const counts = { unused: 1, used: 2, unfinished: 3, notProfiles: 4, received: 5, moved: 12, inTransit: 13 }
  const faults = { damaged: 8, locked: 9, unfit: 10, held: 11, unreadable: 14 }
  const checked = { checked: 6, usable: 7, faults }
  const summary = {
    directory: 'D\n',
    counts: { ...counts, unanswered: 15 },
    checked,
    identity: 'original' as const,
  }
  const lines = statusIn('text', [summary]).split('\n')
  expect(lines.map((line) => line.replace(/ +\d+$/, '').trim())).toEqual([
    'D\\u{a}',
    ...['unused', 'used', 'unfinished', 'moved', 'in transit', 'not profiles', 'received', 'unanswered'],
    ...['checked', 'usable', 'damaged', 'unreadable', 'locked', 'unfit', 'held', ''],
  ])
  expect(lines[5]).toBe('  in transit           13')
})
