/** What a station does, as one table: each script for stations is tested with it. No case needs a serial port or a terminal. */
import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { introduce } from '../../src/store/identity.ts'
import { iccid } from '../support/profiles.ts'

export interface Run {
  readonly settings?: Readonly<Record<string, string>>
  /** Settings whose values mean something else in softsim-station.cmd. */
  readonly inCmd?: Readonly<Record<string, string>>
  readonly args?: readonly string[]
  /** What is typed for each panel; `exit` follows. */
  readonly typed?: readonly string[]
  /** What is typed before, such as a passphrase. */
  readonly secret?: string
  /** What the station says, in this order. Words of softsim begin with `softsim:`. */
  readonly says?: readonly string[]
  readonly never?: readonly string[]
  readonly code?: number
  /** Device and result of all attempts until then: `SN-1 fail, SN-1 pass`. */
  readonly results?: string
  /** All receipts until then: which device got which profile, counted from 1: `SN-1 1, SN-2 2`. */
  readonly given?: string
  /** The station that all results and receipts name. */
  readonly station?: string
  /** Slot, device and line of all that was programmed until then; the profile stands as `#`. */
  readonly programmed?: readonly string[]
  /** What is done in the station's directory before. */
  readonly first?: (place: string) => void
}

export interface Case extends Run {
  readonly name: string
  /** How many profiles there are. */
  readonly stock?: number
  /** Why softsim-station.cmd can't do it. */
  readonly notInCmd?: string
  /** A copy must be recognised: Wine tells no time of birth. */
  readonly birth?: true
  /** The station is started again. */
  readonly again?: Run
}

const put =
  (...names: string[]) =>
  (place: string) => {
    for (const name of names) {
      const [file = '', text = ''] = name.split('=')
      writeFileSync(join(place, file), text)
    }
  }
const remove = (name: string) => (place: string) => rmSync(join(place, name), { recursive: true })
const rename = (from: string, to: string) => (place: string) => renameSync(join(place, from), join(place, to))
const backUp = (place: string) => cpSync(join(place, 'profiles'), join(place, 'backup'), { recursive: true })
/** As a directory that fetch has made, and that was not used. */
const knowItself = (place: string) => introduce(join(place, 'profiles'))
type Change = (place: string) => void
const both = (one: Change, other: Change) => (place: string) => {
  one(place)
  other(place)
}
const restore = both(remove('profiles'), rename('backup', 'profiles'))
/** As if the directory had had another path: then its receipts do not say that it is a backup. */
const forgetPath = (place: string) => {
  const path = join(place, 'receipt.jsonl')
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll('"directory":"', '"directory":"/before'))
}

const NO_PATTERNS = 'it has no regular expressions'
const NO_TIMEOUT = 'it has no TIMEOUT'
const NOT_A_SERIAL = 'This is not a serial number of a device.'
const FAILED = 'failed. Scan it again to repeat: it gets the same profile.'
const ok = (...serials: string[]) => serials.map((serial) => `Device ${serial} is programmed.`)

const COPY = 'softsim: error: profiles is a copy, or came back from a backup'
/** The next start is refused before anything is asked. */
const REFUSED = {
  ...{ typed: ['SN-2'], says: [COPY, 'softsim: hint: nothing was claimed'], code: 10 },
  never: ['rofiles left', 'Serial number'],
}

type More = Omit<Case, 'name'>
const scans = (name: string, typed: readonly string[], more: More = {}): Case => ({ name, typed, ...more })
const sets = (name: string, settings: Record<string, string>, more: More) => ({ name, settings, ...more })

/** The station does not start. */
const refuses = (name: string, settings: Record<string, string>, said: string, notInCmd?: string): Case => ({
  ...{ name, settings, says: [said], code: 2, ...(notInCmd && { notInCmd }) },
})
const isNoNumber = (setting: string, notInCmd?: string) =>
  refuses(
    `${setting} is not a number`,
    Object.fromEntries([setting.split('=')]),
    `${setting} is not a number.`,
    notInCmd,
  )

const START: Case[] = [
  {
    name: '--help prints the settings',
    args: ['--help'],
    says: ['Usage: softsim-station [PORT...]', 'PROFILES   the directory of profiles', 'plain text.'],
    never: ['Profiles left'],
  },
  {
    name: 'an option is not a port',
    args: ['--port'],
    says: ['--port is not a serial port. Settings are environment variables: see softsim-station --help.'],
    code: 2,
  },
  {
    name: 'the banner says what is used',
    says: [
      ...['Profiles:  *profiles', 'Key:       *softsim.pem'],
      ...['Receipts:  *receipt.jsonl', 'Results:   *results.csv'],
      'Program:   *program-device*, panel of 1',
      'profiles left: 5',
    ],
  },
  ...['STATION', 'SOFTSIM_STATION'].map((setting) => ({
    name: `${setting} is the name of the station: the banner has it, and so have results and receipts`,
    settings: { [setting]: 'line-1b' },
    typed: ['SN-1'],
    says: ['Station:   line-1b', ...ok('SN-1')],
    station: 'line-1b',
  })),
  refuses('a station whose name has a comma', { STATION: 'line,1' }, 'STATION=line,1 is not a name'),
  ...['PROFILE', 'KEYS', 'RECEIPTS', 'RESULT', 'SERIAL', 'LOWSTOCK'].map((name) => ({
    name: `${name} is not a setting`,
    settings: { [name]: 'x' },
    says: [`WARNING: ${name} is not a setting. See softsim-station --help.`, 'profiles left: 5'],
  })),
  scans('SOFTSIM_DIR stands for PROFILES', ['SN-1'], {
    first: rename('profiles', 'stock'),
    settings: { SOFTSIM_DIR: 'stock' },
    given: 'SN-1 1',
  }),
  sets(
    'SOFTSIM_KEY_FILE stands for KEY',
    { SOFTSIM_KEY_FILE: 'line.pem' },
    { first: rename('softsim.pem', 'line.pem'), says: ['Key:       *line.pem'] },
  ),
  sets('SOFTSIM_RECEIPT is RECEIPT', { SOFTSIM_RECEIPT: 'line.jsonl' }, { says: ['Receipts:  *line.jsonl'] }),
  ...['PANEL=x', 'PANEL=-1', 'BAUD=9600x', 'LOW_STOCK=fifty', 'LOW_STOCK=010', 'LOW_STOCK=123456789'].map(
    (each) => isNoNumber(each),
  ),
  isNoNumber('TIMEOUT=x', NO_TIMEOUT),
  refuses('a panel without slots', { PANEL: '0' }, 'PANEL is 0.'),
  refuses('a frame without a place for it', { SEND: 'AT+SOFTSIM' }, 'SEND has no %s for the profile.'),
  refuses('READ without a group', { READ: 'ICCID' }, 'READ has no (...) around the ICCID.', NO_PATTERNS),
  ...['PASS', 'SERIALS'].map((name) =>
    refuses(`${name} that is none`, { [name]: '(' }, '( is not a regular expression.', NO_PATTERNS),
  ),
  refuses('a log that can’t be written', { LOG: './no/log.txt' }, "Can't write ./no/log.txt."),
  refuses('results that can’t be written', { RESULTS: './no/results.csv' }, "Can't write ./no/results.csv."),
  refuses(
    'a program that is missing',
    { PROGRAM: 'no-such-program' },
    'is not on the PATH. Or name a serial port.',
  ),
  refuses('a program that is missing, by its path', { PROGRAM: './none' }, './none does not exist'),
  sets(
    'a key that is missing: the hint names the setting',
    { KEY: 'no.pem' },
    { says: ['softsim: error: ', 'softsim: hint: check KEY '], never: [' -k'], code: 4 },
  ),
  sets(
    'a directory that is missing: the hint names the setting',
    { PROFILES: 'nowhere' },
    {
      says: ['softsim: error: directory nowhere does not exist', 'softsim: hint: check PROFILES'],
      never: ['check -i'],
      code: 3,
    },
  ),
  sets(
    'a directory one level too high',
    { PROFILES: '.' },
    { says: ['softsim: hint: did you mean PROFILES='], never: ['-i '], code: 3 },
  ),
  {
    name: 'a key with a passphrase, and a list: the station does not take the first line for it',
    first: rename('locked.pem', 'softsim.pem'),
    says: ['has a passphrase, and standard input is a list: set SOFTSIM_KEY_PASSPHRASE.'],
    code: 2,
    notInCmd: 'it can’t tell a list',
  },
  scans('the passphrase of the key is asked for once, and the program does not get it', ['SN-1', 'SN-2'], {
    first: rename('locked.pem', 'softsim.pem'),
    secret: 'a secret',
    says: ok('SN-1', 'SN-2'),
    given: 'SN-1 1, SN-2 2',
  }),
  scans('a passphrase in the environment is not asked for, and the program does not get it', ['SN-1'], {
    first: rename('locked.pem', 'softsim.pem'),
    settings: { SOFTSIM_KEY_PASSPHRASE: 'a secret' },
    says: ok('SN-1'),
  }),
  {
    name: 'a wrong passphrase',
    first: rename('locked.pem', 'softsim.pem'),
    secret: 'another',
    says: ['softsim: error: the passphrase does not decrypt', 'softsim: hint: '],
    code: 4,
  },
]

const SERIALS: Case[] = [
  scans('a blank label', ['\nSN-1'], {
    says: ['Nothing was read. Is the label blank?', ...ok('SN-1')],
    given: 'SN-1 1',
  }),
  ...['yes', 'NO', 'Quit', 'help', 'SKIP'].map((word) => ({
    name: `${word} is not a serial number`,
    typed: [`${word}\nSN-1`],
    says: ['is not a serial number. To end the shift, type exit.', ...ok('SN-1')],
    given: 'SN-1 1',
  })),
  scans('EXIT ends the shift, too', ['EXIT', 'SN-1'], { says: ['End of the shift'], given: '' }),
  ...['SN"1', 'SN 1', 'SN,1', 'SN!1', 'SN%1', 'SN&1', 'S'.repeat(129)].map((serial) => ({
    name: `${serial.slice(0, 9)} is not a serial number`,
    typed: [`${serial}\nSN-2`],
    says: [NOT_A_SERIAL, ...ok('SN-2')],
    given: 'SN-2 1',
  })),
  scans('what a serial number may have', ['a.B_c:1/2#3+4-5', '-1', 'S'.repeat(128)], {
    given: `a.B_c:1/2#3+4-5 1, -1 2, ${'S'.repeat(128)} 3`,
  }),
  ...[
    { serial: 'NOREAD', why: 'the scanner has read nothing' },
    {
      serial: 'SN-2,SN-3',
      why: 'a list of serial numbers',
      settings: { SERIALS: '.*' },
      notInCmd: NO_PATTERNS,
    },
    {
      serial: 'SN-X',
      why: 'not what SOFTSIM_DEVICE_FORMAT describes',
      settings: { SOFTSIM_DEVICE_FORMAT: 'SN-[0-9]' },
    },
  ].map(({ serial, why, ...more }) => ({
    name: `softsim refuses ${serial}: ${why}`,
    typed: [serial, 'SN-1'],
    says: [
      `softsim: error: the value of --device is ${serial}: ${why}`,
      'Nothing was programmed: scan again.',
      ...ok('SN-1'),
      'End of the shift: 1 passed, 0 failed',
    ],
    never: [`Device ${serial} `],
    given: 'SN-1 1',
    results: 'SN-1 pass',
    ...more,
  })),
  scans('a SOFTSIM_DEVICE_FORMAT that is wrong: the station does not start', ['SN-1'], {
    settings: { SOFTSIM_DEVICE_FORMAT: '(' },
    says: ['softsim: error: SOFTSIM_DEVICE_FORMAT is not a regular expression'],
    never: ['rofiles left'],
    given: '',
    code: 2,
  }),
  scans(
    'a serial number that softsim refuses in a panel: only its slot is scanned again',
    ['SN-1\nERROR\nSN-2'],
    {
      settings: { PANEL: '2' },
      says: ['Nothing was programmed: scan again.', '2 passed, 0 failed, 0 repeated, 3 profiles left.'],
      never: ['Device ERROR'],
      programmed: ['1 SN-1 #', '2 SN-2 #'],
    },
  ),
  scans(
    'a list with a byte order mark, from Windows',
    ['\ufeffSN-1 \t\r', 'SN-2\r', 'SN-2\r', 'yes\r', 'exit\r'],
    { given: 'SN-1 1, SN-2 2, SN-2 2', notInCmd: 'it asks for Enter before each device' },
  ),
  scans('blanks at both ends are cut off', ['  SN-1 '], { given: 'SN-1 1' }),
  scans('upper and lower case are two devices', ['SN-a', 'sn-a'], { given: 'SN-a 1, sn-a 2' }),
  scans('serial numbers of one’s own form, each as a whole', ['XX-1\nSN-1SN-1\nSN-1'], {
    settings: { SERIALS: 'SN-[0-9]+' },
    says: [`${NOT_A_SERIAL} SERIALS is SN-[0-9]+`, NOT_A_SERIAL, ...ok('SN-1')],
    notInCmd: NO_PATTERNS,
  }),
]

const SHIFT: Case[] = [
  scans('one device after another', ['SN-1', 'SN-2'], {
    says: [...ok('SN-1', 'SN-2'), 'End of the shift: 2 passed, 0 failed, 0 repeated, 3 profiles left.'],
    never: ['is not finished'],
    results: 'SN-1 pass, SN-2 pass',
    programmed: ['1 SN-1 #', '1 SN-2 #'],
  }),
  scans('a device that fails gets the same profile again', ['SN-1', 'SN-2'], {
    first: put('fail-SN-1'),
    says: [
      `Device SN-1 ${FAILED}`,
      ...ok('SN-2'),
      'End of the shift: 1 passed, 1 failed, 0 repeated, 3 profiles left.',
      'Device SN-1 is not finished: scan it again.',
    ],
    again: {
      first: remove('fail-SN-1'),
      typed: ['SN-1'],
      says: [...ok('SN-1'), '1 passed, 0 failed, 1 repeated'],
      results: 'SN-1 fail, SN-2 pass, SN-1 pass',
      given: 'SN-1 1, SN-2 2, SN-1 1',
    },
  }),
  scans('a device that another station has programmed: it is asked about', ['SN-1'], {
    again: {
      settings: { RESULTS: 'line-2.csv', STATION: 'line-2' },
      typed: ['SN-1', 'no', 'SN-2'],
      says: ['Device SN-1 is already programmed. Is it this device?', ...ok('SN-2')],
      given: 'SN-1 1, SN-2 2',
    },
  }),
  scans('a device that is programmed, and the results are of another day: it is asked about', ['SN-1'], {
    again: {
      settings: { RESULTS: 'tuesday.csv' },
      typed: ['SN-1', 'yes'],
      says: ['Device SN-1 is already programmed. Is it this device?', ...ok('SN-1')],
      given: 'SN-1 1, SN-1 1',
    },
  }),
  scans('few profiles are left', ['SN-1'], {
    settings: { LOW_STOCK: '4' },
    says: ['Profiles left: 5', 'WARNING: profiles left: 4. Fetch more.'],
  }),
  scans('a programmed device, without yes', ['SN-1', 'SN-1\nno\nSN-2'], {
    results: 'SN-1 pass, SN-2 pass',
  }),
  scans('a programmed device: again with yes', ['SN-1', 'SN-1\nyes'], {
    says: [...ok('SN-1', 'SN-1'), '2 passed, 0 failed, 1 repeated, 4 profiles left.'],
    given: 'SN-1 1, SN-1 1',
  }),
  scans('a programmed device: the label of the next one answers the question', ['SN-1', 'SN-1\nSN-2'], {
    says: ok('SN-1', 'SN-2'),
    results: 'SN-1 pass, SN-2 pass',
  }),
  scans(
    'a programmed device in a panel: a label is no answer',
    ['SN-1\nskip', 'SN-1\nSN-2\nno\nSN-3\nSN-2'],
    {
      settings: { PANEL: '2' },
      says: [...ok('SN-1'), 'Type yes or no.'],
      programmed: ['1 SN-1 #', '1 SN-3 #', '2 SN-2 #'],
    },
  ),
  scans('a programmed device: exit ends the shift', ['SN-1', 'SN-1\nexit'], {
    says: ['End of the shift: 1 passed'],
    results: 'SN-1 pass',
  }),
  scans('a panel: each device gets its own', ['SN-1\nSN-2\nSN-3'], {
    settings: { PANEL: '3' },
    first: put('fail-SN-2'),
    says: ['panel of 3', '2 passed, 1 failed, 0 repeated, 2 profiles left.'],
    given: 'SN-1 1, SN-2 2, SN-3 3',
    programmed: ['1 SN-1 #', '2 SN-2 #', '3 SN-3 #'],
    again: {
      first: remove('fail-SN-2'),
      settings: { PANEL: '3' },
      typed: ['skip\nSN-2\nskip'],
      says: [...ok('SN-2'), '1 passed, 0 failed, 1 repeated, 2 profiles left.'],
      results: 'SN-1 pass, SN-2 fail, SN-3 pass, SN-2 pass',
    },
  }),
  scans('a panel with an empty slot', ['SN-1\nSkip\nSN-3'], {
    settings: { PANEL: '3' },
    programmed: ['1 SN-1 #', '3 SN-3 #'],
  }),
  { name: 'an empty panel', settings: { PANEL: '2' }, typed: ['skip\nskip', 'SN-1\nskip'], given: 'SN-1 1' },
  scans('a device twice in a panel', ['SN-1\nSN-1\nSN-2'], {
    settings: { PANEL: '2' },
    says: ['Device SN-1 is in this panel already.'],
    programmed: ['1 SN-1 #', '2 SN-2 #'],
  }),
  scans('exit in the middle of a panel claims nothing', ['SN-1\nexit'], {
    settings: { PANEL: '2' },
    says: ['End of the shift', 'Device SN-1 was scanned, but not programmed: scan it again.'],
    given: '',
    results: '',
  }),
  scans('fewer profiles than devices: nothing is claimed', ['SN-1\nSN-2\nSN-3'], {
    stock: 2,
    settings: { PANEL: '3' },
    says: [
      'WARNING: profiles left: 2. Fetch more, or type skip for slots that get none.',
      'softsim: error: ',
      'Too few profiles are left: 0 passed, 0 failed, 0 repeated, 2 profiles left.',
      'Device SN-3 was scanned, but not programmed: scan it again.',
    ],
    code: 3,
    given: '',
    results: '',
  }),
  scans('the last profile: another device ends the shift; it can be repeated', ['SN-1', 'SN-2'], {
    stock: 1,
    first: put('fail-SN-1'),
    says: [`Device SN-1 ${FAILED}`, 'softsim: error: no unused profile', 'Too few profiles are left'],
    code: 3,
    again: {
      first: remove('fail-SN-1'),
      typed: ['SN-1'],
      says: ['WARNING: profiles left: 0. Fetch more.', ...ok('SN-1')],
      given: 'SN-1 1, SN-1 1',
    },
  }),
  scans('a frame around the profile', ['SN-1'], {
    settings: { SEND: 'AT+SOFTSIM="%s",1' },
    programmed: ['1 SN-1 AT+SOFTSIM="#",1'],
  }),
  ...[
    { what: 'its ICCID', said: `ICCID: ${iccid(1)}`, says: ok('SN-1'), results: 'SN-1 pass' },
    {
      ...{ what: 'another ICCID', said: `ICCID: ${iccid(2)}`, results: 'SN-1 fail' },
      says: ['it may have another identity. Do not ship it.', FAILED],
    },
    {
      ...{ what: 'no ICCID', said: 'done', results: 'SN-1 fail' },
      says: ['program-device does not name the ICCID', FAILED],
    },
  ].map(({ what, said, says, results }) => ({
    name: `the program names ${what}`,
    settings: { READ: 'ICCID: ([0-9]+)' },
    inCmd: { READ: 'ICCID: ' },
    first: put(`says-SN-1=${said}\n`),
    typed: ['SN-1'],
    says,
    results,
  })),
  scans('a program that hangs', ['SN-1'], {
    settings: { TIMEOUT: '1' },
    first: put('hang-SN-1'),
    says: ['(limit: 1 s).', FAILED],
    results: 'SN-1 fail',
    notInCmd: NO_TIMEOUT,
  }),
  scans('the log has no profile', ['SN-1'], {
    settings: { LOG: 'log.txt' },
    says: ok('SN-1'),
  }),
  scans('results after a power cut: each line on its own', ['SN-1'], {
    first: put('results.csv=time,station,device,result\n2026-11-22T18:00:00Z,lin'),
    results: 'SN-1 pass',
    notInCmd: 'it joins the lines',
  }),
  ...['pass', 'fail'].map((result) => ({
    name: `a backup that has forgotten a device (${result}): no second profile`,
    first: result === 'fail' ? both(backUp, put('fail-SN-1')) : backUp,
    typed: ['SN-1'],
    again: {
      first: both(restore, forgetPath),
      typed: [result === 'pass' ? 'SN-1\nyes' : 'SN-1'],
      says: [
        'Device SN-1 has a profile that this directory does not know. Is the directory from a backup?',
        'Stop all its stations. Then, with the receipts of ALL stations and moves: softsim restore -i * --receipts * OTHERS...',
        'The directory is a copy, or from a backup: 0 passed',
      ],
      code: 10,
      results: `SN-1 ${result}`,
    },
  })),
  scans('a device of another lot, which is there: the next one is asked for', ['SN-1'], {
    again: {
      first: (place) => {
        cpSync(join(place, 'profiles'), join(place, 'lot'), { recursive: true })
        for (const name of ['.devices', '.identity', `__${iccid(1)}.json`])
          rmSync(join(place, 'lot', name), { recursive: true, force: true })
      },
      settings: { PROFILES: 'lot' },
      typed: ['SN-1', 'yes', 'SN-2'],
      says: ['Device SN-1 has a profile from another directory: program it from *profiles.', ...ok('SN-2')],
      results: 'SN-1 pass, SN-2 pass',
    },
  }),
  scans('a copy is refused before anything is asked', ['SN-1'], {
    birth: true,
    again: { first: both(backUp, restore), ...REFUSED },
  }),
  scans('a backup of a directory that was not used is refused at once, by the receipts', ['SN-1'], {
    birth: true,
    first: both(knowItself, backUp),
    again: { first: restore, ...REFUSED },
  }),
  scans('a backup that comes back during the shift: the next scan is refused', ['SN-1'], {
    birth: true,
    again: {
      first: both(backUp, put('fail-SN-2', 'restore-SN-2')),
      typed: ['SN-2', 'SN-3'],
      says: [
        COPY,
        'The directory is a copy, or from a backup: 0 passed, 1 failed',
        'Device SN-2 is not finished: scan it when the directory is restored.',
      ],
      never: ['Device SN-3', 'scan it again.'],
      code: 10,
      results: 'SN-1 pass, SN-2 fail',
    },
  }),
  scans('a disk that is gone says nothing about a device', ['SN-1', 'SN-1'], {
    first: put('fail-SN-1', 'remove-SN-1'),
    settings: { PROFILES: './profiles' },
    says: ['softsim: error: ', 'There are no profiles in ./profiles: 0 passed, 1 failed'],
    never: ['softsim restore', 'Too few'],
    code: 3,
    results: 'SN-1 fail',
  }),
]

export const CASES: readonly Case[] = [...START, ...SERIALS, ...SHIFT]
