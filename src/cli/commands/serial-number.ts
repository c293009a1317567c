/** Which serial numbers `--device` takes. What stands for no device, or for several, would give two devices one identity. */

import { UsageError } from '../../advice/advice.ts'
import { quote } from '../../advice/shell.ts'
import { oddEnd } from '../../words.ts'
import { notEmpty } from './values.ts'

const LONGEST = 128

/** Without case, blanks and punctuation: what scanners say that have read nothing. */
const NO_READ =
  'badcode badread err error fail ng nobarcode nocode nodata nolabel nomatch noread nosymbol notfound notread nr readerror readfail scanerror timeout'.split(
    ' ',
  )

/** What languages write for a value that is not there, and boards for a serial number that nobody has set. */
const NO_VALUE =
  'baseboardserialnumber chassisserialnumber dbnull default defaultstring empty emptystring false inf infinity invalid n/a na nan nil none nonetype notapplicable notavailable nothing notset notspecified null nullptr oem systemserialnumber tobefilledbyoem true unassigned undefined unknown unset void'.split(
    ' ',
  )

/** As languages print what is no text, and cmd what is empty; also behind what stands before a number. */
const OBJECT = /^(\[object \w+\]|\[Function.*\]|Promise \{.*\}|System\.\w+(\[\])?|ECHO .*\b(on|off)\W*)$/i
const NUMBERLESS = /^undefined\b|[-_:./ ](undefined|null|NULL|NaN|None|nil)$/

/** What a command says in place of a serial number. */
const MESSAGE =
  /\b(no such file|command not found|page not found|not recognized|permission denied|bad gateway|cannot find|could not|failed to|no devices|traceback)\b|\w(Exception|Error)\b/i

/** What `--device` is for in other tools. */
const PORT = /^(\/dev\/\S+|(\\\\\.\\)?COM[1-9]\d?:?)$/i

/** The names of variables, where the sign before them was forgotten. */
const NAMES = 'barcode device serial serialnumber sn'.split(' ')

/** In shells, templates and format strings. What programs print in angle brackets describes an object. */
const VARIABLE =
  /^(%\w+(:[^%]*)?%|%{1,2}[-~.\d]*\w|%\(\w+\)\w|!\w+(:[^!]*)?!|@\w+@|__\w+__|<.+>|\$[a-z_][\w:.]*|\$\d|#\{.+\}|\{\s*\w*([!:][^}]*)?\s*\}|\\\w)$/i

/** The same in a part of the text. */
const WITH_VARIABLE = /\$\(.+\)|\$\{.+\}|\{\{.+\}\}|[-_:. ](\$[a-z_]\w+|%\w+%|\{\w*\}|%\d*d)$/i

/** A cell with an error, and a number that has lost its last digits. */
const CELL = /^(#N\/[AD]|#NV|#\u00a1?[A-Z0/]+[!?]|Err:\d{3}|\d([.,]\d+)?E\+\d+|\d[.,]\d+E\d+)$/i

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
  if (/(?! )\p{Zs}/u.test(serial))
    return ['written with a blank that is no space', 'enter it again, with spaces']
  const word = serial.toLowerCase().replaceAll(/[^\p{L}\p{N}/]/gu, '')
  if (!/[\p{L}\p{N}]/u.test(word) || NO_READ.includes(word))
    return ['the scanner has read nothing', 'scan the device again']
  if (VARIABLE.test(serial) || WITH_VARIABLE.test(serial) || NAMES.includes(word)) {
    return [
      'a variable that was not replaced',
      'check how the script writes variables; --device takes the serial number itself',
    ]
  }
  if (CELL.test(serial))
    return ['a spreadsheet has lost the serial number', 'make its column text, and enter the number again']
  if (PORT.test(serial))
    return ['a port', '--device takes the serial number; write the output to the port with >']
  if (MESSAGE.test(serial))
    return [
      'a message of a program',
      'check where the script gets the serial number from; nothing was claimed',
    ]
  if (NO_VALUE.includes(word) || OBJECT.test(serial) || NUMBERLESS.test(serial))
    return ['the script has no serial number', 'check where the script gets it from; nothing was claimed']
  const isList = /[,;]/.test(serial)
  if (!isList && !QUOTED.test(serial)) return undefined
  const parts = serial.split(/[,;]/).map((part) => part.replaceAll(ENDS, '').trim())
  const typed = parts.filter((part) => /[\p{L}\p{N}]/u.test(part)).map((part) => `--device ${quote(part)}`)
  const hint = parts.some((part) => QUOTED.test(part))
    ? 'give the serial number alone'
    : `write ${typed.join(' ')}`
  return [isList ? 'a list of serial numbers' : 'in quotation marks', hint]
}
