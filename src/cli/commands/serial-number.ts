/** Which serial numbers `--device` takes. What stands for no device, or for several, would give two devices one identity. */

import { UsageError } from '../../advice/advice.ts'
import { quote } from '../../advice/shell.ts'
import { oddEnd } from '../../words.ts'
import { notEmpty } from './base.ts'

const LONGEST = 128

/**
 * What is no serial number: what it is, what helps, words without case, blanks and punctuation, and forms. Only the first
 * that fits is told.
 */
const REFUSED: readonly (readonly [what: string, hint: string, words: string, ...forms: RegExp[]])[] = [
  [
    'the scanner has read nothing',
    'scan the device again',
    'badcode badread err error fail ng nobarcode nocode nodata nolabel nomatch noread nosymbol notfound notread nr readerror readfail scanerror timeout',
    /^[^\p{L}\p{N}]*$/u,
  ],
  ['written with a blank that is no space', 'enter it again, with spaces', '', /(?! )\p{Zs}/u],
  [
    'a variable that was not replaced',
    'check how the script writes variables; --device takes the serial number itself',
    // The names of variables, where the sign before them was forgotten.
    'barcode device serial serialnumber sn',
    // In shells, templates and format strings. What programs print in angle brackets describes an object.
    /^(%\w+(:[^%]*)?%|%{1,2}[-~.\d]*\w|%\(\w+\)\w|!\w+(:[^!]*)?!|@\w+@|__\w+__|<.+>|\$[a-z_][\w:.]*|\$\d|#\{.+\}|\{\s*\w*([!:][^}]*)?\s*\}|\\\w)$/i,
    // The same in a part of the text.
    /\$\(.+\)|\$\{.+\}|\{\{.+\}\}|[-_:. ](\$[a-z_]\w+|%\w+%|\{\w*\}|%\d*d)$/i,
  ],
  [
    'a spreadsheet has lost the serial number',
    'make its column text, and enter the number again',
    '',
    // A cell with an error, and a number that has lost its last digits.
    /^(#N\/[AD]|#NV|#\u00a1?[A-Z0/]+[!?]|Err:\d{3}|\d([.,]\d+)?E\+\d+|\d[.,]\d+E\d+)$/i,
  ],
  [
    'a port',
    '--device takes the serial number; write the output to the port with >',
    '',
    /^(\/dev\/\S+|(\\\\\.\\)?COM[1-9]\d?:?)$/i,
  ],
  [
    'a message of a program',
    'check where the script gets the serial number from; nothing was claimed',
    '',
    /\b(no such file|command not found|page not found|not recognized|permission denied|bad gateway|cannot find|could not|failed to|no devices|traceback)\b|\w(Exception|Error)\b/i,
  ],
  [
    'the script has no serial number',
    'check where the script gets it from; nothing was claimed',
    // What languages write for a value that is not there, and boards for a serial number that nobody has set.
    'baseboardserialnumber chassisserialnumber dbnull default defaultstring empty emptystring false inf infinity invalid n/a na nan nil none nonetype notapplicable notavailable nothing notset notspecified null nullptr oem systemserialnumber tobefilledbyoem true unassigned undefined unknown unset void',
    // As languages print what is no text, and cmd what is empty.
    /^(\[object \w+\]|\[Function.*\]|Promise \{.*\}|System\.\w+(\[\])?|ECHO .*\b(on|off)\W*)$/i,
    // Before or behind a number.
    /^undefined\b|[-_:./ ](undefined|null|NULL|NaN|None|nil)$/,
  ],
]

/** Of keyboards, word processors and several languages. */
const QUOTE = /["'`\u00b4\u00ab\u00bb\u2018-\u201f\u2039\u203a\u300c-\u300f]/
const QUOTED = new RegExp(`"|^[([{]*${QUOTE.source}|${QUOTE.source}[)\\]}]*$`)
/** What stands round a value, also as Python prints bytes and lists. */
const ENDS = new RegExp(`^[\\s([{]*b?${QUOTE.source}+|${QUOTE.source}+[\\s)\\]}]*$`, 'g')

/** A scanner may add blanks and a line break, and a file a byte order mark. @throws {UsageError} */
export function serialNumber(text: string): string {
  const serial = notEmpty('--device', text.trim())
  // Node replaces bytes that are not UTF-8: two different serial numbers would look the same.
  if (/[\p{C}\ufffd]/u.test(serial)) {
    throw new UsageError(
      'the value of --device contains a character that is not printable or not UTF-8',
      'check the settings of the scanner and of the terminal',
    )
  }
  if (Array.from(serial).length <= LONGEST) return serial
  throw new UsageError(
    `the value of --device has more than ${LONGEST} characters`,
    'check that it is one serial number',
  )
}

/** @throws {UsageError} if the variable is not a regular expression */
export function deviceFormat(env: NodeJS.ProcessEnv): RegExp | undefined {
  const format = env['SOFTSIM_DEVICE_FORMAT']
  if (!format) return undefined
  const end = oddEnd(format)
  const hint = 'for example: SN-[0-9]{6}'
  if (end !== undefined) throw new UsageError(`SOFTSIM_DEVICE_FORMAT ${end}`, hint)
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
  const mistake =
    mistakeIn(serial) ??
    (format && ['not what SOFTSIM_DEVICE_FORMAT describes', 'scan the device again, or correct the variable'])
  if (mistake === undefined) return serial
  throw new UsageError(`the value of --device is ${serial}: ${mistake[0]}`, mistake[1])
}

function mistakeIn(serial: string): readonly [what: string, hint: string] | undefined {
  const word = serial.toLowerCase().replaceAll(/[^\p{L}\p{N}/]/gu, '')
  for (const [what, hint, words, ...forms] of REFUSED)
    if (words.split(' ').includes(word) || forms.some((form) => form.test(serial))) return [what, hint]
  const isList = /[,;]/.test(serial)
  if (!isList && !QUOTED.test(serial)) return undefined
  const parts = serial.split(/[,;]/).map((part) => part.replaceAll(ENDS, '').trim())
  const typed = parts.filter((part) => /[\p{L}\p{N}]/u.test(part)).map((part) => `--device ${quote(part)}`)
  const hint = parts.some((part) => QUOTED.test(part))
    ? 'give the serial number alone'
    : `write ${typed.join(' ')}`
  return [isList ? 'a list of serial numbers' : 'in quotation marks', hint]
}
