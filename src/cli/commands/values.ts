/** What the values of options must be. */
import { oddEnd } from '../../words.ts'
import { UsageError } from '../advice/usage.ts'

/** Parses the value of `--count`. @throws {UsageError} */
export const parseCount = (text: string): number => wholeNumber(text, '-n (--count)', 1)

/** Parses a number from `least`, which is 0 or 1. @throws {UsageError} */
export function wholeNumber(text: string, option: string, least: 0 | 1): number {
  if (/^(0|[1-9]\d{0,8})$/.test(text) && Number(text) >= least) return Number(text)
  const end = oddEnd(text)
  throw new UsageError(
    `the value of ${option} is not a whole number from ${least} to 999999999`,
    end === undefined ? `for example: ${option.split(' ')[0]} 100` : `the value ${end}`,
  )
}

/** Parses the value of `--since`, in local time unless it has a zone. @throws {UsageError} */
export function parseTime(text: string): Date {
  const [, day, time = '00:00', zone = ''] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d)?)?$/.exec(text) ?? []
  const parsed = new Date(`${day}T${time}${zone}`)
  if (!Number.isNaN(parsed.getTime())) return parsed
  throw new UsageError('the value of --since is not a time', 'for example: --since 2026-11-23T06:00')
}

/** An option value can be empty because a shell variable is unset. @throws {UsageError} */
export function notEmpty(option: string, value: string): string {
  if (value !== '') return value
  throw new UsageError(
    `the value of ${option} is empty`,
    'give a value; if it is a shell variable, the variable is not set',
  )
}

/**
 * Of the lengths that ITU-T E.118 allows, SIM cards have 19 or 20 digits.
 * @returns the digits, without a filler
 * @throws {UsageError}
 */
export function checkIccid(text: string): string {
  const [, digits] = /^(\d{19,20})[Ff]?$/.exec(notEmpty('--iccid', text)) ?? []
  if (digits !== undefined) return digits
  throw new UsageError(
    'the value of --iccid is not 19 or 20 digits',
    'give the whole ICCID, as in the name of the file',
  )
}

/** A scanner may add blanks and a line break. @throws {UsageError} */
export function serialNumber(text: string): string {
  const serial = notEmpty('--device', text.trim())
  // Node replaces bytes that are not UTF-8: two different serial numbers would look the same.
  if (/[\p{C}\ufffd]/u.test(serial)) {
    throw new UsageError(
      'the value of --device contains a character that is not printable or not UTF-8',
      'check the settings of the scanner and of the terminal',
    )
  }
  if (/^(%\w+%|!\w+!|\$[a-z_]\w*|\$?\{\w+\}|<[\w -]+>|undefined)$/i.test(serial)) {
    throw new UsageError(
      `the value of --device is ${serial}: a variable that was not replaced`,
      'check how the script writes variables; --device takes the serial number itself',
    )
  }
  if (Array.from(serial).length <= 128) return serial
  throw new UsageError(
    'the value of --device has more than 128 characters',
    'check that it is one serial number',
  )
}

/** Parses the value of `--receipt`. @throws {UsageError} */
export function checkReceipt(path: string): string {
  const end = oddEnd(path)
  if (end !== undefined)
    throw new UsageError(`the name of the receipt ${end}`, 'for example: --receipt receipt.jsonl')
  if (path !== '-') return notEmpty('--receipt', path)
  throw new UsageError(
    '--receipt names a file: standard output is for the device',
    'such as: --receipt receipt.jsonl',
  )
}
