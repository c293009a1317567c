import { expect, test } from 'vitest'
import type { Settings } from '../../src/station/settings.ts'
import { Answer } from '../../src/station/verdict.ts'

const expected = { pass: /OK/, fail: /ERROR/, read: undefined } as Settings
const given = {
  iccid: '89880000000000000017',
  line: '0123456789abcdef0123456789abcdef',
  device: 'SN-1',
  isAgain: false,
}

test('of a line without an end, what was said last is kept', () => {
  const answer = new Answer(expected, given)
  expect(answer.add(`${'.'.repeat(9000)} ERROR`)).toEqual([])
  const [line = ''] = answer.add('\n')
  answer.judge(line)
  expect([line.length, answer.verdict?.isPassed]).toEqual([4096, false])
})

test('a profile that is repeated is not shown, in capitals either', () => {
  const answer = new Answer(expected, given)
  expect(answer.add(`got ${given.line} and ${given.line.toUpperCase()}\n`)).toEqual([
    'got (profile) and (profile)',
  ])
})

test.each([
  ['with something before it', 'TX 00: 000123456789ABCDEF0123456789abcdef', 'TX 00: (profile)'],
  ['byte by byte', 'TX 01 23 45 67 89 ab cd ef 01', 'TX (profile)'],
  ['as in C', 'TX 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01', 'TX (profile)'],
  ['a part of it', 'at 23456789abcdef01', 'at (profile)'],
  ['in eight bytes', 'at 01-23-45-67-89-AB-CD-EF', 'at (profile)'],
  ['before another digit', `${given.line.slice(0, 24)}f`, '(profile)'],
  ['behind other digits', `ff${given.line.slice(8)}`, '(profile)'],
])('a profile that is repeated %s is not shown', (_, said, shown) => {
  const answer = new Answer(expected, given)
  expect(answer.add(`${said}\n`)).toEqual([shown])
})

test('other numbers are shown', () => {
  const answer = new Answer(expected, given)
  for (const line of [
    '89880000000000000017 and 00 11 22 33 44 55 66 77',
    // Less than eight bytes of the profile, and as much of it as an ICCID has beside something else.
    '23456789abcdef0 and 01 23 45 67 89 ab cd',
    'fff0123456789abcdef0123fff',
    `${given.line.slice(0, 23)}fff`,
  ])
    expect(answer.add(`${line}\n`)).toEqual([line])
})

test('an ICCID may be named with blanks in it', () => {
  const answer = new Answer({ ...expected, read: /ICCID: ([0-9 ]+)/ }, given)
  answer.judge('ICCID: 8988 0000 0000 0000 0017')
  expect(answer.verdict).toBeUndefined()
  answer.judge('OK')
  expect(answer.verdict).toMatchObject({ isPassed: true })
})

test('a prompt is as long as a name can be, and no longer', () => {
  const passes = [32, 33].map((length) => {
    const answer = new Answer({ ...expected, pass: /^OK/ }, given)
    answer.judge(`${'x'.repeat(length)}# OK`)
    return answer.verdict?.isPassed
  })
  expect(passes).toEqual([true, undefined])
})

test('what each stream says is lines of its own', () => {
  const answer = new Answer(expected, given)
  expect([answer.add('be', 0), answer.add('er', 1)]).toEqual([[], []])
  expect(answer.add('g\u200bun\r\n\n \t\nnext', 0)).toEqual(['begun'])
  expect(answer.add('ror\n', 1)).toEqual(['error'])
})

test('a pass is noted as it was said, also if the ICCID comes later, and may have a filler', () => {
  const answer = new Answer(
    { ...expected, read: /ICCID: ([0-9f]+)/ },
    { ...given, iccid: given.iccid.slice(1) },
  )
  for (const line of ['OK 0', 'OK 1', 'ready', `ICCID: ${given.iccid.slice(1)}ff`]) answer.judge(line)
  expect(answer.verdict).toEqual({ isPassed: true, note: 'OK 1' })
  expect(answer.last).toBe(`ICCID: ${given.iccid.slice(1)}ff`)
})

test('another ICCID is a failure that no pass undoes', () => {
  const answer = new Answer({ ...expected, read: /ICCID: ([0-9]+)/ }, given)
  for (const line of ['ICCID: 89880000000000000025', `ICCID: ${given.iccid}`, 'OK']) answer.judge(line)
  expect(answer.verdict).toEqual({
    isPassed: false,
    note: 'it got 89880000000000000017, but says 89880000000000000025: it may have another identity. Do not ship it',
  })
})

test('a line that is a failure and a pass is a failure, also if it names the ICCID', () => {
  const answer = new Answer({ ...expected, read: /([0-9]{20})/ }, given)
  answer.judge(`ERROR: not OK ${given.iccid}`)
  expect([answer.verdict?.isPassed, answer.isNamed]).toEqual([false, false])
})

test('a prompt before the answer may be as long as the name of a machine', () => {
  const answer = new Answer({ ...expected, pass: /^OK/ }, given)
  answer.judge('root@programmer-3.example:~# OK')
  expect(answer.verdict).toMatchObject({ isPassed: true })
})

test.each([
  ['<ERROR> profile rejected', {}, { isPassed: false }],
  ['FAIL> crc', { fail: /FAIL/ }, { isPassed: false }],
  ['$OK,1', { pass: /^\$OK/ }, { isPassed: true }],
  ['OK ICCID=>89880000000000000025', { read: /ICCID=>([0-9]+)/ }, { isPassed: false }],
  ['nrf9160> OK 89880000000000000017', { read: /([0-9]+)/ }, { isPassed: true }],
  ['> > OK', {}, { isPassed: true }],
])('what looks like a prompt may be the answer: %s', (line, settings, verdict) => {
  const answer = new Answer({ ...expected, pass: /^OK/, ...settings }, given)
  answer.judge(line)
  expect(answer.verdict).toMatchObject(verdict)
})

test('a failure outweighs a pass, before and after it', () => {
  for (const lines of ['OK\nERROR: rejected\n', 'ERROR: rejected\nOK\n']) {
    const answer = new Answer(expected, given)
    for (const line of answer.add(lines)) answer.judge(line)
    expect(answer.verdict).toEqual({ isPassed: false, note: 'it answers ERROR: rejected' })
  }
})

test('a line goes on after a silence, and after what was sent; a prompt does not', () => {
  const answer = new Answer(expected, given)
  answer.begin('booting\nself-test OK. Init modem... ')
  // What was said before is no answer by itself.
  expect(answer.pause()).toEqual([])
  expect([answer.add('OK\nErasing... '), answer.pause(), answer.pause()]).toEqual([
    ['...OK'],
    ['Erasing...'],
    [],
  ])
  expect([answer.add('OK\n'), answer.pause()]).toEqual([['Erasing... OK'], []])
  for (const prompt of ['Enter the profile: ', 'dev% ', '', 'sh$', 'root# ', '> ', 'Profile?']) {
    answer.begin(`booting\n${prompt}`)
    expect(answer.add('OK\n')).toEqual(['OK'])
  }
})

test('of a long line, its beginning is noted', () => {
  const line = `ERROR ${'x'.repeat(300)}`
  const answer = new Answer(expected, given)
  answer.judge(line)
  expect(answer.verdict?.note).toBe(`it answers ${line.slice(0, 200)}`)
  expect(answer.last).toBe(line.slice(0, 200))
})
