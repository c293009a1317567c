import { expect, test } from 'vitest'
import { TABLES } from '../../src/status/print.ts'

/** In transcripts, columns are two spaces apart, and JSON and CSV are there: status.txt. */
test('devices as text: columns as wide as what is in them, without blanks at the end', () => {
  const records = [
    { claimed: '2026-11-20', station: 'line-4', device: 'SN-1', iccid: '8988' },
    { claimed: '2026-11-21', station: '', device: 'a\u001b[2J,"b"', iccid: '89' },
  ]
  expect([...TABLES.text(['claimed', 'station', 'device', 'iccid'], records)]).toEqual([
    'claimed     station  device          iccid\n',
    '2026-11-20  line-4   SN-1            8988\n',
    '2026-11-21           a\\u{1b}[2J,"b"  89\n',
  ])
})
