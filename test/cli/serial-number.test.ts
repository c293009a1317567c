import { describe, expect, test } from 'vitest'
import { deviceFor, deviceFormat } from '../../src/cli/serial-number.ts'
import { UsageError } from '../../src/failure.ts'

const formatOf = (SOFTSIM_DEVICE_FORMAT: string) => deviceFormat({ SOFTSIM_DEVICE_FORMAT })

/** What is said of a serial number; undefined if it is taken as it stands. */
function said(text: string, format?: string): string | undefined {
  try {
    expect(deviceFor(text, format === undefined ? undefined : formatOf(format))).toBe(text.trim())
    return undefined
  } catch (error) {
    if (!(error instanceof Error && 'hint' in error)) throw error
    expect(error.message).toContain(text.trim())
    return `${error.message.split(': ').at(-1)} | ${error.hint}`
  }
}

const NO_READ = /^the scanner has read nothing \| scan the device again$/
const NO_VALUE =
  /^the script has no serial number \| check where the script gets it from; nothing was claimed$/
const VARIABLE = /^a variable that was not replaced \| check how the script writes variables$/
const MESSAGE =
  /^a message of a program \| check where the script gets the serial number from; nothing was claimed$/
const PORT = /^a port \| write the output to the port with >$/
const CHIP =
  /^what a script reads from an empty chip \| program the serial number of the chip, or take the one of the label$/
const DRIVE = /^a path \| git-bash makes it of \/A123, unless MSYS_NO_PATHCONV=1 is set$/
const DASH = /^written with a dash that is no hyphen \| enter it again, with -$/
const BLANK = /^written with a blank that is no space \| enter it again, with spaces$/
const CELL = /^a spreadsheet has lost the serial number \| make its column text, and enter the number again$/

describe('what stands for no device is refused', () => {
  test.each([
    [NO_READ, 'NOREAD | NoRead |  NO READ\r\n | NO-READ | no_read | NOTREAD | BAD READ | ERROR | err'],
    [NO_READ, '? | ??? | ***** | --- | . | ########## | [TIMEOUT] | NOCODE | Fail | NR | NG'],
    [NO_READ, 'NO BARCODE | NO LABEL | READ ERROR | ReadFail | Bad Code | no data | SCAN ERROR | NOT FOUND'],
    [NO_VALUE, 'null | NULL | (null) | None | nil | undefined | NaN | n/a | unknown | True | False'],
    [NO_VALUE, '[object Object] | System.Object[] | To Be Filled By O.E.M. | Default string'],
    [NO_VALUE, 'Not Specified | System Serial Number | Not Applicable | Not Available | O.E.M. | INVALID'],
    [NO_VALUE, 'Default | (empty) | unset | DBNull | System.DBNull | System.String[] | Nothing | nullptr'],
    [NO_VALUE, 'NoneType | -inf | [object Promise] | Promise { <pending> } | [Function: serial]'],
    [NO_VALUE, 'ECHO is off. | ECHO ist ausgeschaltet (OFF). | SN-undefined | undefined-1 | SN-NaN'],
    [NO_VALUE, 'SN_None | SN-null | SN nil | SN:undefined | SN/NaN | N.A. | void | NA | not set | inf | oem'],
    [NO_VALUE, 'Base Board Serial Number | Chassis Serial Number | empty string | infinity | unassigned'],
    [NO_READ, 'No Match | NO SYMBOL | NO-TREAD | nosymbol'],
    [DASH, 'SN\u20131 | SN\u22121'],
    [VARIABLE, '$SN | $1 | $env:SN | $(SN) | $(cat sn.txt) | \u0024{SN} | \u0024{env:SN}'],
    [VARIABLE, '\u0024{{ inputs.sn }} | %SN% | %%a | %1 | %~1 | %s | !SN! | {{serial}} | {{ serial }}'],
    [VARIABLE, '{serial} | {0} | <SN> | <serial number> | <nil> | <Device object at 0x7f3a> | @SN@'],
    [VARIABLE, '#{sn} | __SERIAL__ | SN | serial | Serial Number | SERIAL_NUMBER | device | barcode'],
    [VARIABLE, '%(sn)s | %08d | {sn!r} | {0:08d} | %SN:~0,8% | !SN:~0,8! | \\1 | \\N | «sn» | @sn | &sn;'],
    [VARIABLE, 'SN-$COUNT | SN-\u0024{N} | SN-{{n}} | SN-{n} | SN-%N% | SN-%d | {% sn %} | SN-'],
    [CELL, '#N/A | #REF! | #NAME? | #DIV/0! | 8.98E+18 | 8,98E+18 | 1e+15 | #NV | #N/D | #WERT!'],
    [CELL, '#¡VALOR! | Err:502 | 1.23457E15'],
    [MESSAGE, 'cat: sn.txt: No such file or directory | bash: sn: command not found'],
    [MESSAGE, '404 page not found | Traceback (most recent call last): | java.lang.NullPointerException'],
    [MESSAGE, '502 Bad Gateway | error: no devices/emulators found'],
    [MESSAGE, 'The system cannot find the file specified.'],
    [MESSAGE, 'line.sh: 1: read-sn: not found | Error: No device found | adb: device offline | I/O error'],
    [MESSAGE, '+CME ERROR: 10 | ERROR: There is no debugger | Segmentation fault | Operation timed out'],
    [MESSAGE, 'AT+CGSN | ERR 3 | OK | Access denied'],
    [PORT, '/dev/ttyUSB0 | COM3 | \\\\.\\COM10 | com3 | COM99: | COM1'],
    [BLANK, 'SN\u00a01 | SN\u30001'],
    [CHIP, '00000000 | 0x00000000 | 00:00:00:00:00:00 | 00-00-00-00-00-00-00-00 | 0000 0000 0000'],
    [CHIP, 'FFFFFFFF | ffffffffffffffff | 0xFFFFFFFF | FF:FF:FF:FF:FF:FF | ffff.ffff.ffff'],
    [
      CHIP,
      '0x0123456789ABCDEF | 0XFFFFFFFF | 0_0_0_0_0_0_0_0 | ff ff ff ff | 0123456789ABCDEF | 0123456789abcdef | 01-23-45-67-89-AB-CD-EF',
    ],
    [DRIVE, 'C:/A123 | C:/Program Files/Git/A123 | d:\\SN-1'],
  ])('%s: %s', (expected, texts) => {
    for (const text of texts.split(' | ')) expect(said(text), text).toMatch(expected)
  })
})

test('what is wrong with the text itself comes first, with what helps', () => {
  const hintOf = (text: string) => {
    try {
      return deviceFor(text, undefined)
    } catch (error) {
      return error instanceof UsageError ? `${error.message} | ${error.hint}` : error
    }
  }
  expect(hintOf(' \t')).toBe('the serial number is empty | scan the device again')
  expect(hintOf('NO\u0000READ')).toBe(
    'the serial number has a character in it that is not printable or not UTF-8 | check the settings of the scanner and of the terminal',
  )
  expect(hintOf('0'.repeat(129))).toBe(
    'the serial number has more than 128 characters | check that it is one serial number',
  )
})

test.each([
  ...[
    '"SN-9"',
    "'SN-9'",
    '“SN-9”',
    '„SN-9“',
    '`SN-9`',
    'SN-9"',
    "b'SN-9'",
    '´SN-9´',
    '«SN-9»',
    '‹SN-9›',
    '「SN-9」',
    'SN-9’',
    "['SN-9']",
    '『SN-9』',
    '{"sn":"SN-9"}',
  ],
])('%s is in quotation marks', (text) =>
  expect(said(text)).toBe('in quotation marks | give the serial number alone'),
)

test.each(['SN-1,SN-2', '"SN-1"; "SN-2"', 'SN-1,', "('SN-9',)"])('%s is a list', (text) =>
  expect(said(text)).toBe('a list of serial numbers | repeat --device, once for each'),
)

test.each([
  ...[
    'NULL-MODEM-3',
    'ERR0R5',
    'NOREAD-7',
    'ERROR 42',
    'ERR-0042',
    'SN-1',
    'sn1',
    'device-1',
    'True7',
    '0',
    '000000',
    'F00000000',
  ],
  ...['00000000-1', 'FFFF', '0123456789', 'C:9', '00:00:00:00:00:01'],
  // One digit too few, one too many, or a word that only begins like another one.
  ...['0000000', 'FFFFFFF', '0x0000000', 'COM100', 'COM0', 'A:', 'SN1E5', 'nullable', 'OKAY', 'device1'],
  ...['a:b', 'Prüfgerät-Ü', '東京-5', 'é', 'SN 2', '(01)09501101530003(21)SN42', 'A/B.C_D+E', '50%', 'P$5'],
  ...[
    '{3F2504E0-4F89-11D3-9A0C-0305E82C3301}',
    '#12',
    '1E5',
    "O'Neil-5",
    'x'.repeat(128),
    '𝐀'.repeat(128),
    ' SN-1\r\n',
  ],
  ...['COM-001', 'P-100%', 'A$B', 'nil2', 'MIRROR-1', 'SN:9', ']C1SN-9', '[SN-9]', 'SN-1|2', 'INVALID-7'],
  // A list from Windows has a byte order mark and line ends of its own.
  '\ufeffSN-1\r',
])('%s is a serial number', (text) => expect(said(text)).toBeUndefined())

describe('SOFTSIM_DEVICE_FORMAT', () => {
  test.each([
    ['SN-\\d+', 'SN-9'],
    ['^SN-\\d+$', 'SN-9'],
    ['A|SN-9', 'SN-9'],
    ['\\p{L}+', 'Ü'],
    ['.+', 'SN-1,SN-2'],
    ['[A-Z]{4}', 'NULL'],
    ['', 'SN-9'],
  ])('%s allows %s', (format, text) => expect(said(text, format)).toBeUndefined())

  test.each([
    ['SN-\\d+', 'XSN-9'],
    ['SN-\\d+', 'SN-9X'],
    ['A|SN-9', 'SN-95'],
    ['A|SN-9', 'AB'],
    ['A|SN-9', 'XSN-9'],
    ['SN-\\d+', '4006381333931'],
  ])('%s does not allow %s', (format, text) =>
    expect(said(text, format)).toBe(
      'not what SOFTSIM_DEVICE_FORMAT describes | scan the device again, or correct the variable',
    ),
  )

  test('a placeholder that does not match it is named as what it is', () =>
    expect(said('NOREAD', 'SN-\\d+')).toMatch(NO_READ))

  test.each([
    ['(', /is not a regular expression of JavaScript$/],
    ['a)|(b', /is not a regular expression of JavaScript$/],
    ['\\p{Nonsense}', /is not a regular expression of JavaScript$/],
    ['SN-[0-9]+\r', /^SOFTSIM_DEVICE_FORMAT begins or ends with a quote or a blank$/],
    ['"SN-[0-9]+"', /^SOFTSIM_DEVICE_FORMAT begins or ends with a quote or a blank$/],
  ])('%j is refused', (format, message) => expect(() => formatOf(format)).toThrow(message))

  test('does not allow what can be read as two serial numbers', () => {
    for (const text of ['SN\u200b-1', 'SN\ufffd', 'x'.repeat(129)])
      expect(() => deviceFor(text, formatOf('.*'))).toThrow(/^the serial number has /)
  })
})
