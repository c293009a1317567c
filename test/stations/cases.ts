/** What a station does, as one table. */
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { identityOf } from '../../src/store/directory.ts'
import { iccid } from '../support/profiles.ts'
import type { Place } from './place.ts'

export interface Run {
  readonly options?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** The answers to its questions; `exit` follows. */
  readonly typed?: readonly string[]
  /** Standard input, in place of a terminal. */
  readonly list?: string
  /** What a device at a port answers to each profile; `{line}` is what it got. */
  readonly port?: readonly string[]
  /** What is shown, in this order. `*` stands for anything in a line. */
  readonly says?: readonly string[]
  readonly never?: readonly string[]
  readonly code?: number
  /** Of all runs until then. */
  readonly results?: string
  readonly given?: string
  /** Slot, device and what the program reads, of all runs until then; the profile stands as `#`. */
  readonly programmed?: readonly string[]
  /** What is done before. */
  readonly first?: (place: Place) => void
}

export interface Case extends Run {
  readonly name: string
  readonly stock?: number
  readonly digits?: 19
  /** The station is started again. */
  readonly again?: Run
}

const put =
  (...names: string[]) =>
  (place: Place) => {
    for (const name of names) {
      const [file = '', text = ''] = name.split('=')
      place.put(file, text)
    }
  }
const remove =
  (...names: string[]) =>
  (place: Place) => {
    for (const name of names) rmSync(place.path(name), { recursive: true })
  }
const rename = (from: string, to: string) => (place: Place) => renameSync(place.path(from), place.path(to))
const locked = (place: Place) =>
  writeFileSync(place.path('softsim.pem'), readFileSync(place.path('locked.pem')))
const backUp = (place: Place) => cpSync(place.path('profiles'), place.path('backup'), { recursive: true })
const goBack = (place: Place) => {
  // An own identity: nobody can tell that it is a backup.
  rmSync(place.path('profiles'), { recursive: true })
  cpSync(place.path('backup'), place.path('profiles'), { recursive: true })
  for (const name of ['.identity', '.devices'])
    rmSync(place.path(`profiles/${name}`), { recursive: true, force: true })
}

/** Puts the answer of a service aside in a directory of its own, as a fetch does. */
const receive = (place: Place) => {
  const answer = place.path(`received/.incoming/${'0'.repeat(20)}`)
  mkdirSync(answer, { recursive: true })
  mkdirSync(place.path('received/.claims'))
  identityOf(place.path('received'))
  writeFileSync(
    join(answer, 'answer'),
    `${JSON.stringify(JSON.parse(readFileSync(place.path(`profiles/${iccid(1)}.json`), 'utf8')))}\n`,
  )
}

/** What is left is as if all of its profiles were new. */
export const forget = (place: Place) => {
  rmSync(place.path(`profiles/__${iccid(1)}.json`))
  for (const name of readdirSync(place.path('profiles/.devices')))
    rmSync(place.path(`profiles/.devices/${name}`), { recursive: true })
}

const FAILED = 'Scan it again to repeat: it gets the same profile.'
const AGAIN =
  'softsim: hint: scan the devices that have not passed again: what has a profile gets the same one'
const ok = (...serials: string[]) => serials.map((serial) => `Device ${serial} is programmed.`)

type More = Omit<Case, 'name'>
const scans = (name: string, typed: readonly string[], more: More = {}): Case => ({ name, typed, ...more })
/** The station does not start. */
const refuses = (name: string, options: readonly string[], said: string, more: More = {}): Case => ({
  ...{ name, options, says: [said], never: ['Serial number'], code: 2, typed: [] },
  ...more,
})
const atPort = (name: string, port: readonly string[], more: More): Case => ({
  name,
  port,
  typed: ['SN-1'],
  ...more,
})
const PANEL = ['--panel', '2']

const START: Case[] = [
  {
    name: 'the banner says what is used',
    says: [
      ...['Station:     *', 'Profiles:    */profiles, 5 unused', 'Key:         */softsim.pem'],
      ...[
        'Receipts:    */receipt.jsonl',
        'Program:     ./program-device',
        'Not passed:  0 devices with a profile',
      ],
      ...['WARNING: profiles left: 5. Fetch more.', 'Serial number of the device (or exit): exit'],
      'End of the shift: 0 devices passed',
    ],
  },
  {
    name: 'the names of directory, key, receipt and station from variables',
    first: (place) => {
      rename('profiles', 'stock')(place)
      rename('softsim.pem', 'line.pem')(place)
    },
    env: {
      ...{ SOFTSIM_DIR: 'stock', SOFTSIM_KEY_FILE: 'line.pem' },
      ...{ SOFTSIM_RECEIPT: 'line.jsonl', SOFTSIM_STATION: 'line-1b' },
    },
    typed: ['SN-1'],
    says: ['Station:     line-1b', '/stock, 5 unused', '/line.pem', '/line.jsonl', ...ok('SN-1')],
  },
  refuses('neither port nor program', [], 'no port and no program is named', { port: [] }),
  refuses(
    'a receipt that can’t be written',
    ['--receipt', 'no/r.jsonl'],
    "can't write the receipt no/r.jsonl",
    {
      code: 9,
    },
  ),
  refuses(
    'a directory that nobody has used',
    ['-i', '.'],
    'error: no profile in .\nsoftsim: hint: check its name and its disk',
    { code: 3 },
  ),
  {
    name: 'a directory whose profiles were received by a fetch that was killed',
    first: receive,
    ...{ options: ['-i', 'received'], typed: ['SN-1'], says: ok('SN-1'), given: 'SN-1 1' },
  },
  {
    name: 'a key of other profiles: one error, and nothing is claimed',
    ...{ options: ['-k', 'other.pem'], typed: ['SN-1'], code: 4, given: '', never: ['is skipped'] },
    says: ['not programmed: SN-1', 'the key other.pem does not decrypt 5'],
  },
  {
    name: 'a passphrase that is wrong is asked for again; it is not shown, and the program does not get it',
    first: locked,
    // Here, exit is no end: it may be a passphrase.
    typed: ['another', 'exit', 'a secret', 'SN-1', 'SN-2'],
    says: [
      'Passphrase of softsim.pem: ',
      'This passphrase is wrong.',
      'This passphrase is wrong.',
      ...ok('SN-1', 'SN-2'),
    ],
    never: ['a secret', 'another'],
  },
  scans('a passphrase in the environment is not asked for, and the program does not get it', ['SN-1'], {
    ...{
      first: locked,
      env: { SOFTSIM_KEY_PASSPHRASE: 'a secret', SOFTSIM_API_KEY: 'a-key' },
      says: ok('SN-1'),
    },
    never: ['Passphrase'],
  }),
  {
    name: 'a key with a passphrase, and a list: the first line is not taken for it',
    ...{ first: locked, list: 'SN-1\n', code: 4, given: '' },
    says: ['softsim.pem is protected with a passphrase', 'set SOFTSIM_KEY_PASSPHRASE'],
  },
]

const NOT_SERIAL: [text: string, why: string][] = [
  ...['yes', 'NO', 'Quit', 'help', 'SKIP', 'Back', 'y', 'N'].map((word): [string, string] => [
    word,
    '. Nothing was programmed: scan a device, or type exit',
  ]),
  ['NOREAD', ': the scanner has read nothing. Nothing was programmed: '],
  ['SN-2,SN-3', ': a list of serial numbers. Nothing was programmed: '],
  ['00:00:00:00:00:00', ': what a script reads from an empty chip. Nothing was programmed: '],
  ['C:/A123', ': a path. Nothing was programmed: '],
  ['SN\u22122', ': written with a dash that is no hyphen. Nothing was programmed: '],
]

const IN_PANEL = 'Device 00042 is in this panel already. Nothing was programmed: scan the label of this slot'

const SERIALS: Case[] = [
  scans(
    'Ctrl-D at a question ends the shift, and not in the middle of a label',
    ['SN-\x041', 'SN-1', '\x04'],
    {
      says: ['a character in it that is not printable', ...ok('SN-1'), 'End of the shift: 1 device passed'],
    },
  ),
  scans(
    'what is no serial number programs nothing, and the same device is asked for again',
    ['', 'SN-2\tSN-3', '\x1b10001', ...NOT_SERIAL.map(([text]) => text), 'SN-1', 'EXIT'],
    {
      says: [
        'Nothing was read. Nothing was programmed: scan again; is the label blank?',
        'the serial number has a character in it that is not printable',
        'the serial number has a character in it that is not printable',
        ...NOT_SERIAL.map(([text, why]) => `${text} is no serial number${why}`),
        ...ok('SN-1'),
        'End of the shift: 1 device passed',
      ],
      ...{ given: 'SN-1 1', results: 'SN-1 pass' },
    },
  ),
  scans(
    'what SOFTSIM_DEVICE_FORMAT does not describe, in a panel: only its slot is scanned again',
    ['SN-1', 'SN-X', 'SN-2'],
    {
      ...{ options: PANEL, env: { SOFTSIM_DEVICE_FORMAT: 'SN-[0-9]' }, programmed: ['1 SN-1 #', '2 SN-2 #'] },
      says: ['not what SOFTSIM_DEVICE_FORMAT describes', ...ok('SN-1')],
    },
  ),
  scans(
    'the frame of a scanner, and blanks; backspace, and arrows that do nothing',
    [
      '\x02SN-1\x03',
      ' SN-2 ',
      '\x02SN-3\x03\r\n',
      'SN-456\b\x7f',
      '\x1b[ASN-5\x1b[D\x1b[3~\x1b[1;5C',
      'xx\x02SN-6\x03',
    ],
    { given: 'SN-1 1, SN-2 2, SN-3 3, SN-4 4, SN-5 5, SN-6 6', stock: 6 },
  ),
  scans('what follows the frame of a scanner is no label, in a panel', ['\x02SN-1\x03', '\x02SN-2\x03'], {
    ...{ options: PANEL, programmed: ['1 SN-1 #', '2 SN-2 #'], never: ['Nothing was read'] },
  }),
  scans('two spellings: another device, with yes', ['SN-a', 'sn-a', 'no', 'sn-a', '', 'SN-A', 'yes'], {
    says: [
      'sn-a and SN-a: another device? Type yes if it is, or no to scan SN-a: ',
      'sn-a and SN-a: another device?',
      // Enter is a no.
      'Serial number of the device',
      'SN-A and SN-a: another device?',
      ...ok('SN-A'),
    ],
    given: 'SN-a 1, SN-A 2',
  }),
  scans('two spellings in a panel, after an empty one', ['skip', 'skip', '00042', '42', 'SN-2'], {
    ...{ options: PANEL, says: [IN_PANEL], given: '00042 1, SN-2 2' },
  }),
  scans('the slots of a panel that have not passed are named', ['SN-1', 'SN-2', 'SN-3'], {
    ...{ first: put('fail-SN-2'), options: ['--panel', '3'], code: 8 },
    says: ['Not passed: slot 2', 'Serial number'],
  }),
  scans(
    'a panel with a twin of a known device, which is another one',
    ['SN-1', 'skip', 'SN-2', 'sn-1', 'yes'],
    {
      ...{ options: PANEL, says: ok('SN-1'), programmed: ['1 SN-1 #', '1 SN-2 #', '2 sn-1 #'] },
    },
  ),
]

const SAYS_LATIN1 = (place: Place) =>
  writeFileSync(place.path('says-SN-1'), Buffer.from('gepr\xfcft\n', 'latin1'))

const PASSED =
  'Device SN-1 has passed, at * on 20*-*-* *:*. Is it this device? Type yes to program it again, or no to leave it: '

const SHIFT: Case[] = [
  scans('a program that does not write UTF-8: the next shift reads the receipts', ['SN-1'], {
    first: SAYS_LATIN1,
    again: { typed: ['SN-2'], says: ok('SN-2') },
  }),
  scans('a device that is to be programmed again, and is not, has not passed', ['SN-1', 'SN-2'], {
    options: PANEL,
    again: {
      options: PANEL,
      typed: ['SN-1', 'yes'],
      says: ['0 devices passed; not programmed: SN-1'],
      code: 8,
    },
  }),
  scans('one device after another, and few profiles are left', ['SN-1', 'SN-2'], {
    options: ['--low-stock', '4'],
    says: [
      'Profiles left: 5',
      'Programming SN-1, for at most 30 s',
      ...ok('SN-1'),
      'WARNING: profiles left: 4. Fetch more.',
      ...ok('SN-2'),
      'End of the shift: 2 devices passed',
    ],
    never: ['not passed'],
    ...{ results: 'SN-1 pass, SN-2 pass', programmed: ['1 SN-1 #', '1 SN-2 #'] },
  }),
  scans('a device that fails gets the same profile again, without a question', ['SN-1', 'SN-1', 'SN-2'], {
    first: put('fail-SN-1'),
    says: [
      'no answer of the debugger',
      `Device SN-1 failed: exit code 3: no answer of the debugger. ${FAILED}`,
      ...ok('SN-2'),
      // Devices are counted, not attempts.
      'End of the shift: 1 device passed; not passed: SN-1',
      'softsim: error: not every device has passed',
      AGAIN,
    ],
    code: 8,
    again: {
      first: remove('fail-SN-1'),
      typed: ['SN-1'],
      says: [
        'Not passed:  1 device with a profile: SN-1',
        'SN-1 has a profile, but no pass is recorded (*: exit code 3: no answer of the debugger): programming it again',
        ...ok('SN-1'),
      ],
      ...{ results: 'SN-1 fail, SN-1 fail, SN-2 pass, SN-1 pass', given: 'SN-1 1, SN-1 1, SN-2 2, SN-1 1' },
    },
  }),
  scans('a timeout of months, which no timer takes, is not over at once', ['SN-1'], {
    ...{ options: ['--timeout', '9999999'], says: ok('SN-1') },
  }),
  scans('devices that have not passed are named in the order of their numbers', ['SN-10', 'SN-9'], {
    ...{ first: put('fail-SN-10', 'fail-SN-9'), code: 8 },
    again: { says: ['Not passed:  2 devices with a profile: SN-9, SN-10'] },
  }),
  scans('a device that has passed: it is asked about at each station', ['SN-1'], {
    env: { SOFTSIM_STATION: 'line-1' },
    again: {
      env: { SOFTSIM_STATION: 'line-2' },
      typed: ['SN-1', 'N', 'SN-1', 'Y'],
      says: [PASSED.replace('*', 'line-1'), PASSED, ...ok('SN-1')],
      // Until it has passed again, it has not.
      ...{ given: 'SN-1 1, SN-1 1', results: 'SN-1 pass, SN-1 fail, SN-1 pass' },
    },
  }),
  scans(
    'a device that has passed: the label of the next one is no answer, and exit ends the shift',
    ['SN-1', 'SN-1', 'SN-2', 'no', 'SN-2', 'SN-2', 'exit'],
    {
      says: [
        ...[PASSED, 'SN-2 is not used: type yes or no.', ...ok('SN-2'), 'Device SN-2 has passed'],
        'End of the shift: 2 devices passed',
      ],
      results: 'SN-1 pass, SN-2 pass',
    },
  ),
  scans(
    'a device that has passed, in a panel: a label is no answer',
    ['SN-1', 'skip', 'SN-1', 'SN-2', 'no', 'SN-3', 'SN-2'],
    {
      ...{ options: PANEL, says: [...ok('SN-1'), 'SN-2 is not used: type yes or no.'] },
      programmed: ['1 SN-1 #', '1 SN-3 #', '2 SN-2 #'],
    },
  ),
  scans(
    'a panel: each device gets its own, and what the program says has its slot',
    ['SN-1', 'SN-2', 'SN-3'],
    {
      ...{ options: ['--panel', '3'], first: put('fail-SN-2'), code: 8, given: 'SN-1 1, SN-2 2, SN-3 3' },
      says: [
        'panel of 3',
        '2: Programming SN-2, for at most 30 s',
        '2: no answer of the debugger',
        '2: Device SN-2 failed: exit code 3: ',
        'End of the shift: 2 devices passed; not passed: SN-2',
      ],
      programmed: ['1 SN-1 #', '2 SN-2 #', '3 SN-3 #'],
      again: {
        options: ['--panel', '3'],
        first: remove('fail-SN-2'),
        typed: ['skip', 'SN-2', 'Skip'],
        says: [...ok('SN-2'), 'End of the shift: 1 device passed'],
      },
    },
  ),
  scans('a wrong scan in a panel is taken back', ['back', 'SN-1', 'SN-9', 'back', 'SN-2', 'SN-3'], {
    options: ['--panel', '3'],
    says: [
      'device 3 of 3 (or skip if it is empty, back, exit)',
      'device 2 of 3 (',
      'End of the shift: 3 devices passed',
    ],
    programmed: ['1 SN-1 #', '2 SN-2 #', '3 SN-3 #'],
  }),
  scans('exit in the middle of a panel claims nothing, and names the device', ['SN-1', 'exit'], {
    ...{ options: PANEL, code: 8, given: '', results: '' },
    says: ['End of the shift: 0 devices passed; not programmed: SN-1'],
  }),
  scans('fewer profiles than devices: nothing is claimed, and the shift goes on', ['SN-1', 'SN-2', 'SN-3'], {
    ...{ stock: 2, options: ['--panel', '3'], code: 8, given: '', results: '' },
    says: [
      'WARNING: profiles left: 2. Fetch more.',
      'softsim: warning: at most 2 of 3 requested profiles are available in profiles; ',
      '; devices that have a profile can be programmed',
      '0 devices passed; not programmed: SN-1, SN-2, SN-3',
    ],
  }),
  scans('the last profile: the device that has it can be repeated', ['SN-1', 'SN-2', 'SN-1', 'yes'], {
    ...{ stock: 1, code: 8, given: 'SN-1 1, SN-1 1' },
    says: [
      ...ok('SN-1'),
      'WARNING: profiles left: 0.',
      'softsim: warning: ',
      ...ok('SN-1'),
      '1 device passed; not programmed: SN-2',
    ],
  }),
  // The last line of a program may have no end.
  ...[
    {
      ...{ what: 'its ICCID', said: `ICCID: ${iccid(1)}`, says: ok('SN-1'), code: 0 },
      programmed: ['1 SN-1 AT+SOFTSIM="#",1\r'],
    },
    {
      // The first one counts.
      ...{ what: 'another ICCID', said: `ICCID: ${iccid(2)}\nICCID: ${iccid(3)}`, code: 8 },
      says: [`it got ${iccid(1)}, but says ${iccid(2)}: it may have another identity. Do not ship it.`],
    },
    { what: 'no ICCID', said: 'done', code: 8, says: ['the program does not name the ICCID'] },
  ].map(({ what, said, ...more }) =>
    scans(`a frame around the profile, and the program names ${what}`, ['SN-1'], {
      options: ['--read', 'ICCID: ([0-9]+)', '--send', 'AT+SOFTSIM="%s",1'],
      ...{ first: put(`says-SN-1=${said}`), ...more },
    }),
  ),
  scans('--read, and the program fails: its own error is shown', ['SN-1'], {
    ...{ options: ['--read', 'ICCID: ([0-9]+)'], first: put('fail-SN-1'), code: 8 },
    says: ['no answer of the debugger', 'Device SN-1 failed: exit code 3: no answer of the debugger.'],
  }),
  scans('a disk that is gone in the middle says nothing about the device', ['SN-1'], {
    ...{ first: put('removes-SN-1'), code: 9, never: ['softsim restore'] },
    says: ['not passed: SN-1', 'softsim: error: profiles is gone, or has lost .identity'],
  }),
  scans('a backup from before the shift: refused before the first device', ['SN-1'], {
    first: backUp,
    again: {
      ...{ first: goBack, typed: [], code: 10, given: 'SN-1 1' },
      says: ['softsim: error: profiles is a copy', 'softsim restore puts profiles back into use'],
    },
  }),
  scans('a directory that has forgotten a device: no second profile', ['SN-1'], {
    again: {
      ...{ first: forget, typed: ['SN-2', 'SN-1'], code: 10 },
      says: [
        ...ok('SN-2'),
        'softsim: error: device SN-1 has a profile that profiles does not know',
        'if all profiles in it are new, softsim next -i profiles --device SN-1, with -k and --receipt receipt.jsonl, gives it another one; if not, stop',
        'with the receipts of ALL stations and moves: softsim restore -i profiles',
      ],
    },
  }),
  scans('a copy that has unused what this station has handed out: refused', ['SN-1'], {
    first: backUp,
    again: { options: ['-i', 'backup'], typed: [], code: 10, says: ['softsim: error: backup is a copy'] },
  }),
  {
    name: 'a receipt of what has left by a move, and is home again, is no sign of a copy',
    first: (place) => {
      const moved = { time: '2026-03-01T06:00:00.000Z', station: 'pc', iccid: iccid(1), device: null }
      const way = { directory: place.path('profiles'), to: '/media/stick/profiles', move: 'a.b' }
      place.put('receipt.jsonl', `${JSON.stringify({ ...moved, ...way })}\n`)
    },
    ...{ typed: ['SN-1'], says: ok('SN-1'), results: 'SN-1 pass' },
  },
  scans('a device of another lot: the next one is asked for', ['SN-1'], {
    first: backUp,
    again: {
      first: (place) => rmSync(place.path(`backup/${iccid(1)}.json`)),
      ...{ options: ['-i', 'backup'], typed: ['SN-1', 'SN-2'] },
      says: [
        'Device SN-1 has a profile from */profiles: program it from there. If that is gone, softsim next -i * --device SN-1',
        ...ok('SN-2'),
      ],
    },
  }),
]

const LISTS: Case[] = [
  {
    name: 'a list of Windows, with a byte order mark, a line end that was written twice, and no last one',
    list: '\ufeffSN-1 \t\r\nSN-2\r\r\nSN-3',
    ...{ given: 'SN-1 1, SN-2 2, SN-3 3', says: ['End of the shift: 3 devices passed'] },
  },
  {
    name: 'a list with a device that has passed: nobody is asked',
    ...{ list: 'SN-1\nSN-1\nSN-2\n', given: 'SN-1 1, SN-2 2' },
    says: [`${PASSED}no, because a list has nobody to ask`, ...ok('SN-2'), '2 devices passed'],
  },
  {
    name: 'a list with what is no serial number, and a device that fails',
    ...{ list: 'NOREAD\nSN-1\nSN-2\n', first: put('fail-SN-1'), code: 8, given: 'SN-1 1, SN-2 2' },
    says: ['1 device passed; not passed: SN-1; not programmed: NOREAD (refused)', 'not every device has'],
    results: 'SN-1 fail, SN-2 pass',
  },
  {
    name: 'what a program has left running says nothing of the next device',
    ...{ list: 'SN-1\nSN-2\n', first: put('late-SN-1', 'slow-SN-2'), never: ['LATE'] },
  },
  {
    name: 'a list that is longer than the stock ends there',
    ...{ list: 'SN-1\nSN-2\nSN-3\n', stock: 1, code: 3, given: 'SN-1 1', never: ['SN-3'] },
  },
  {
    name: 'a list for a panel: the last one may have empty slots',
    ...{ list: 'SN-1\nSN-2\nSN-3\n', options: PANEL, says: ['End of the shift: 3 devices passed'] },
    programmed: ['1 SN-1 #', '1 SN-3 #', '2 SN-2 #'],
  },
  {
    name: 'a list for a panel: each line is for its slot, also one that is refused or empty',
    ...{ list: 'SN-1\nNOREAD\n\nSN-2\nSN-3\nSN-3\n', options: PANEL, code: 8 },
    says: ['not programmed: NOREAD (refused), an empty line (refused), SN-3 (refused)'],
    programmed: ['1 SN-1 #', '1 SN-3 #', '2 SN-2 #'],
  },
]

const READ = ['--read', String.raw`\+QCCID: ([0-9A-F]+)`]
const passes = { says: ok('SN-1'), results: 'SN-1 pass' }

const PORTS: Case[] = [
  refuses('a port that is missing', ['--port', '/dev/ttyUSB99'], "can't open the port /dev/ttyUSB99", {
    port: [],
  }),
  refuses('a port that is no port', ['--port', '/dev/null'], '/dev/null is no serial port', { port: [] }),
  {
    name: 'answers behind others, without a line end, with CR alone, with colours and a prompt, of the SoftSIM library',
    port: [
      ...['booting\r\nOK\r\n', 'OK', 'OK\r', '\x1b[1;32muart:~$ \x1b[mOK\r\n'],
      '<inf> SoftSIM fully provisioned\r\n',
    ],
    typed: ['SN-1', 'SN-2', 'SN-3', 'SN-4', 'SN-5'],
    options: ['-v'],
    says: ['softsim: SN-1: booting', 'softsim: SN-1: OK', ...ok('SN-1', 'SN-2', 'SN-3', 'SN-4', 'SN-5')],
    results: 'SN-1 pass, SN-2 pass, SN-3 pass, SN-4 pass, SN-5 pass',
  },
  atPort('an answer of one’s own', ['0\r\n'], { options: ['--pass', '^0$', '--fail', '^[1-9]'], ...passes }),
  atPort(
    'a device that refuses: its echo of the profile is not shown',
    ['echo {line}\r\nERROR: {line}\r\n'],
    {
      ...{ code: 8, results: 'SN-1 fail', says: ['Device SN-1 failed: it answers ERROR: (profile).'] },
    },
  ),
  atPort('a device that does not answer', ['it is not OK\r\n'], {
    ...{ options: ['--timeout', '1'], code: 8, results: 'SN-1 fail' },
    says: ['Device SN-1 failed: no pass or fail in 1 s; it said last: it is not OK.'],
  }),
  atPort('a modem with a filler behind 19 digits', [`OK\r\n+QCCID: ${iccid(1, 19)}F\r\n`], {
    ...{ digits: 19, options: READ, ...passes },
  }),
  atPort('a modem that names no ICCID', ['OK\r\n'], {
    ...{
      options: [...READ, '--timeout', '1'],
      code: 8,
      says: ['no pass or fail that names the ICCID in 1 s'],
    },
  }),
]

export const CASES: readonly Case[] = [...START, ...SERIALS, ...SHIFT, ...LISTS, ...PORTS]
