import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { pageAt, sectionOf } from '../docs/pages.ts'

const PAGE = pageAt('scripts/stations/README.md')
const SETTINGS = [...sectionOf(PAGE, '## Start a station').matchAll(/^- ((?:`[A-Z_]+`(?:, )?)+)/gm)].flatMap(
  ([, names = '']) => names.match(/[A-Z_]+/g) ?? [],
)
const NOT_IN_CMD = ['PASS', 'FAIL', 'TIMEOUT', 'SERIALS']

/** What all of them say; each writes names in its own way. */
const MESSAGES = [
  'time,station,device,result',
  'Profiles left: ',
  'WARNING: profiles left: ',
  'Nothing was read. Is the label blank?',
  'This is not a serial number of a device.',
  'is not a serial number. To end the shift, type exit.',
  'is in this panel already.',
  'is left out.',
  'is already programmed. Is it this device? Type yes to program it again',
  'it may have another identity. Do not ship it.',
  'does not name the ICCID',
  'is programmed.',
  'failed. Scan it again to repeat: it gets the same profile.',
  'End of the shift',
  'has a profile that this directory does not know. Put the device aside.',
  'Is the directory from a backup? Then type exit: other devices can get profiles that are in use.',
  'Its own profile: softsim next --iccid ',
  'Fetch more, or type skip for slots that get none.',
  'Too few profiles are left',
  'Stopped with exit code ',
  'was scanned, but not programmed: scan it again.',
  'is not finished: scan it again.',
  'named twice.',
  'is not a number.',
  'PANEL is 0.',
  'SEND has no %s for the profile.',
]

describe.each(['station.sh', 'station.ps1', 'station.cmd'])('%s', (name) => {
  const text = readFileSync(`scripts/stations/${name}`, 'latin1')
  const isCmd = name === 'station.cmd'

  // Windows PowerShell 5.1 and cmd read other characters in the code page of the machine.
  test('is in ASCII', () => expect(text).toMatch(/^[\t\r\n -~]+$/))

  // cmd misses labels where lines end with LF alone; bash fails where they do not.
  test('has the line ends of its system', () => {
    const ends = new Set(text.match(/\r?\n/g))
    expect([...ends]).toEqual([isCmd ? '\r\n' : '\n'])
  })

  test('has the settings of the page', () => {
    expect(SETTINGS.length).toBeGreaterThan(15)
    const expected = SETTINGS.filter((setting) => !isCmd || !NOT_IN_CMD.includes(setting))
    expect(expected.filter((setting) => !new RegExp(`\\b${setting}\\b`).test(text))).toEqual([])
  })

  test('says what the others say', () => {
    const said = isCmd ? text.replaceAll('%%', '%') : text
    expect(MESSAGES.filter((message) => !said.includes(message))).toEqual([])
  })

  // cmd under Wine, the only one that the script was run with, looks for a variable of that name.
  test('has no variable whose name is that of a loop', () => expect(text).not.toMatch(/!%%\w!/))

  test('every label that it jumps to is there', () => {
    if (!isCmd) return
    const labels = new Set([...text.matchAll(/^:(\w+)/gm)].map(([, label]) => label))
    const jumps = [...text.matchAll(/\b(?:goto |call :)(\w+)/g)].map(([, label]) => label)
    expect(jumps.filter((label) => !labels.has(label))).toEqual([])
    expect(jumps.length).toBeGreaterThan(20)
  })
})
