/** Which serial numbers `--device` takes. What stands for no device, or for several, would give two devices one identity. */

import { UsageError } from '../../advice/advice.ts'
import { quote } from '../../advice/shell.ts'
import { oddEnd } from '../../words.ts'
import { notEmpty } from './values.ts'

const LONGEST = 128

/** Without case, blanks and punctuation: what scanners say that have read nothing. */
const NO_READ = 'badread err error fail nocode noread notread timeout'.split(' ')

/** What languages write for a value that is not there, and boards for a serial number that nobody has set. */
const NO_VALUE =
  'defaultstring false n/a na nan nil none notspecified null objectobject systemobject tobefilledbyoem true undefined unknown'.split(
    ' ',
  )

/** The names of variables, where the sign before them was forgotten. */
const NAMES = 'barcode device serial serialnumber sn'.split(' ')

/** In shells, templates and format strings. What programs print in angle brackets describes an object. */
const VARIABLE =
  /^(%\w+%|%{1,2}~?\w|!\w+!|@\w+@|__\w+__|<.+>|\$[a-z_][\w:.]*|\$\d|\$\(.+\)|[$#]\{.+\}|\{\s*\w+\s*\}|\$?\{\{.+\}\})$/i

/** A cell with an error, and a number that has lost its last digits. */
const CELL = /^(#N\/A|#[A-Z0/]+[!?]|\d([.,]\d+)?E\+\d+)$/i

/** Of keyboards, word processors and several languages. */
const QUOTE = /["'`\u00b4\u00ab\u00bb\u2018-\u201f\u2039\u203a]/
const QUOTED = new RegExp(`"|^${QUOTE.source}|${QUOTE.source}$`)
/** What stands round a value, also as Python prints bytes. */
const ENDS = new RegExp(`^\\s*b?${QUOTE.source}+|${QUOTE.source}+\\s*$`, 'g')

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
  if (!/[\p{L}\p{N}]/u.test(word) || NO_READ.includes(word))
    return ['the scanner has read nothing', 'scan the device again']
  if (VARIABLE.test(serial) || NAMES.includes(word)) {
    return [
      'a variable that was not replaced',
      'check how the script writes variables; --device takes the serial number itself',
    ]
  }
  if (CELL.test(serial))
    return ['a spreadsheet has lost the serial number', 'make its column text, and enter the number again']
  if (NO_VALUE.includes(word))
    return ['the script has no serial number', 'check where the script gets it from; nothing was claimed']
  const isList = /[,;]/.test(serial)
  if (!isList && !QUOTED.test(serial)) return undefined
  const parts = serial.split(/[,;]/).map((part) => part.replaceAll(ENDS, '').trim())
  const typed = parts.filter((part) => part !== '').map((part) => `--device ${quote(part)}`)
  return [isList ? 'a list of serial numbers' : 'in quotation marks', `write ${typed.join(' ')}`]
}
