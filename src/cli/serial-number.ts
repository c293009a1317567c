/** Which serial numbers a device can have. What stands for no device, or for several, would give two devices one identity. */
import { UsageError } from '../failure.ts'

const LONGEST = 128

const QUOTE = '["\'`\u00b4\u00ab\u00bb\u2018-\u201f\u2039\u203a\u300c-\u300f]'

/** A text that is no serial number: what it is, what helps, forms, and words without case, blanks and punctuation. */
const REFUSED: readonly (readonly [what: string, hint: string, form: RegExp, words?: string])[] = [
  [
    'the scanner has read nothing',
    'scan the device again',
    /^[^\p{L}\p{N}]*$/u,
    'badcode badread err error fail ng nobarcode nocode nodata nolabel nomatch noread nosymbol notfound notread nr readerror readfail scanerror timeout',
  ],
  [
    'what a script reads from an empty chip',
    'program the serial number of the chip, or take the one of the label',
    // Also with separators, as in a MAC address.
    /^(0x)?((0[-:._ ]?){8,}|(f[-:._ ]?){8,})$/i,
    '0123456789abcdef 0x0123456789abcdef',
  ],
  ['written with a blank that is no space', 'enter it again, with spaces', /(?! )\p{Zs}/u],
  ['written with a dash that is no hyphen', 'enter it again, with -', /(?!-)[\p{Pd}\u2212]/u],
  [
    'a variable that was not replaced',
    'check how the script writes variables',
    // In shells, templates and format strings, whole or at the end. Programs describe objects in angle brackets.
    /^(%\w+(:[^%]*)?%|%{1,2}[-~.\d]*\w|%\(\w+\)\w|!\w+(:[^!]*)?!|@\w+@|__\w+__|<.+>|\$[a-z_][\w:.]*|\$\d|#\{.+\}|\{\s*\w*([!:][^}]*)?\s*\}|\\\w)$|\$\(.+\)|\$\{.+\}|\{\{.+\}\}|[-_:. ](\$[a-z_]\w+|%\w+%|\{\w*\}|%\d*d)$/i,
    // The names of variables, where the sign before them was forgotten.
    'barcode device serial serialnumber sn',
  ],
  [
    'a spreadsheet has lost the serial number',
    'make its column text, and enter the number again',
    // A cell with an error, and a number that has lost its last digits.
    /^(#N\/[AD]|#NV|#\u00a1?[A-Z0/]+[!?]|Err:\d{3}|\d([.,]\d+)?E\+\d+|\d[.,]\d+E\d+)$/i,
  ],
  ['a port', 'write the output to the port with >', /^(\/dev\/\S+|(\\\\\.\\)?COM[1-9]\d?:?)$/i],
  ['a path', 'git-bash makes it of /A123, unless MSYS_NO_PATHCONV=1 is set', /^[a-z]:[\\/]/i],
  [
    'a message of a program',
    'check where the script gets the serial number from; nothing was claimed',
    // Of shells, adb, debuggers and modems, which also repeat what they are sent.
    /\b(no such file|not found|not recognized|(permission|access) denied|bad gateway|cannot find|could not|failed to|no devices?|device offline|timed out|(i\/o|segmentation) (error|fault)|traceback)\b|\w(Exception|Error)\b|\berror: |^(err[ :]|at\+\w)/i,
    'ok',
  ],
  [
    'the script has no serial number',
    'check where the script gets it from; nothing was claimed',
    // As languages print what is no text, and cmd what is empty; also before or behind a number.
    /^(\[object \w+\]|\[Function.*\]|Promise \{.*\}|System\.\w+(\[\])?|ECHO .*\b(on|off)\W*)$|^undefined\b|[-_:./ ](undefined|null|NaN|None|nil)$/i,
    // What languages write for a value that is not there, and boards for a serial number that nobody has set.
    'baseboardserialnumber chassisserialnumber dbnull default defaultstring empty emptystring false inf infinity invalid n/a na nan nil none nonetype notapplicable notavailable nothing notset notspecified null nullptr oem systemserialnumber tobefilledbyoem true unassigned undefined unknown unset void',
  ],
  ['a list of serial numbers', 'repeat --device, once for each', /[,;]/],
  ['in quotation marks', 'give the serial number alone', RegExp(`"|^[([{]*b?${QUOTE}|${QUOTE}[)\\]}]*$`)],
]

/** A scanner may add blanks and a line break, and a file a byte order mark. @throws {UsageError} */
export function serialNumber(text: string): string {
  const serial = text.trim()
  if (serial === '') throw new UsageError('the serial number is empty', 'scan the device again')
  // Node replaces bytes that are not UTF-8: two different serial numbers would look the same.
  if (/[\p{C}\ufffd]/u.test(serial)) {
    throw new UsageError(
      'the serial number has a character in it that is not printable or not UTF-8',
      'check the settings of the scanner and of the terminal',
    )
  }
  if (Array.from(serial).length <= LONGEST) return serial
  const message = `the serial number has more than ${LONGEST} characters`
  throw new UsageError(message, 'check that it is one serial number')
}

/** @throws {UsageError} if the variable is not a regular expression */
export function deviceFormat(env: NodeJS.ProcessEnv): RegExp | undefined {
  const format = env['SOFTSIM_DEVICE_FORMAT']
  if (!format) return undefined
  const hint = 'for example: SOFTSIM_DEVICE_FORMAT=SN-[0-9]{6}'
  if (/^["'\s]|["'\s]$/.test(format))
    throw new UsageError('SOFTSIM_DEVICE_FORMAT begins or ends with a quote or a blank', hint)
  try {
    // By itself first: "a)|(b" would be one only between the parentheses.
    return new RegExp(`^(?:${new RegExp(format, 'u').source})$`, 'u')
  } catch {
    throw new UsageError('SOFTSIM_DEVICE_FORMAT is not a regular expression of JavaScript', hint)
  }
}

/**
 * The serial number of a device that gets a profile.
 * @param format if one is given, it alone decides
 * @throws {UsageError}
 */
export function deviceFor(text: string, format: RegExp | undefined): string {
  const serial = serialNumber(text)
  if (format?.test(serial)) return serial
  const word = serial.toLowerCase().replaceAll(/[^\p{L}\p{N}/]/gu, '')
  const found = REFUSED.find(([, , form, words]) => form.test(serial) || words?.split(' ').includes(word))
  const [what, hint] = found ?? [
    'not what SOFTSIM_DEVICE_FORMAT describes',
    'scan the device again, or correct the variable',
  ]
  if (found === undefined && format === undefined) return serial
  throw new UsageError(`${serial} is no serial number: ${what}`, hint)
}
