/**
 * Receipts say what left the store: a line of JSON for each profile that is printed or moved, on another disk than the
 * profiles. A line is appended when `__X` is durable, and before anything is printed. A backup does not know what happened
 * after it; the receipts of all stations do.
 */
import * as fs from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { diskFailure, Failure, UsageError } from '../failure.ts'
import { fileRights, flushDirectory, patiently } from './files.ts'
import { fieldsOf, iccidOf, nameOf } from './names.ts'

export interface Receipt {
  /** RFC 3339, by the clock of the station. */
  readonly time: string
  readonly station: string
  /** The digits, without a filler. */
  readonly iccid: string
  /** Null if the call named none. */
  readonly device: string | null
  /** The full path of the directory that the profile was in. */
  readonly directory: string
  /** The identity of that directory. */
  readonly from?: string
  /** It was handed out before. */
  readonly again?: true
  /** It left: the full path of the target, and the id of the move. */
  readonly to?: string
  readonly move?: string
  /** What the station has found out about the device. */
  readonly result?: 'pass' | 'fail'
  readonly note?: string
  /** Where it was read, such as `line-1.jsonl:12`. */
  readonly source?: string
}

/** How each line begins. */
const BEGINNING = '{"time":"'

/** Whether a text is the beginning of a receipt: a full disk or a power cut leaves that. */
const isBegun = (text: string) => text.startsWith(BEGINNING) || BEGINNING.startsWith(text)

const CHANGED_HINT =
  'name the files that the stations have written, as they are: a receipt is UTF-8, and what an editor or >> of PowerShell has written again may have lost letters'

export interface ReceiptFile {
  /**
   * Appends a line for each, with one write, and flushes them.
   * @throws {Failure} `disk`
   */
  append(receipts: readonly Receipt[]): void
}

/**
 * Makes sure, before anything is claimed, that receipts can be appended to a file.
 * @param directories of profiles; a new file gets the rights of the first one
 * @throws {Failure} `usage` if it is another file, `disk`
 */
export function openReceipt(path: string, directories: readonly [string, ...string[]]): ReceiptFile {
  const rights = fileRights(directories[0])
  writing(path, () => {
    const status = fs.statSync(path, { throwIfNoEntry: false })
    const isOther = status !== undefined && !(status.isFile() && isOfReceipts(beginningOf(path)))
    if (isOther || iccidOf(basename(path)) !== undefined)
      throw new UsageError(`${path} is not a file of receipts`, 'name a new file, such as receipt.jsonl')
    fs.closeSync(patiently(() => fs.openSync(path, 'a', rights)))
    const { bavail, blocks } = fs.statfsSync(path)
    if (blocks > 0 && bavail === 0)
      throw new Failure('disk', `not enough disk space for the receipt ${path}`, 'make room on the disk')
    // A power cut could take the name of a new file, and all that was appended with it.
    if ((status?.size ?? 0) === 0) flushDirectory(dirname(path))
  })
  return { append: (receipts) => writing(path, () => append(path, receipts)) }
}

function writing(path: string, action: () => void): void {
  try {
    action()
  } catch (error) {
    throw diskFailure(`can't write the receipt ${path}`, error)
  }
}

function append(path: string, receipts: readonly Receipt[]): void {
  const lines = receipts.map(({ time, station, iccid, device, directory, ...rest }) =>
    JSON.stringify({ time, station, iccid, device, directory: resolve(directory), ...rest }),
  )
  // A part of a line was left by a call that was killed, or whose disk was full or lost its power: it printed nothing.
  const end = readPart(path, Math.max(0, fs.statSync(path).size - 1), 1).toString()
  const mend = end === '' || end === '\n' ? '' : '\n'
  // The file is not made again: where a stick was, there may be a directory of another disk.
  const file = patiently(() => fs.openSync(path, fs.constants.O_WRONLY | fs.constants.O_APPEND))
  try {
    // What a device says may not be UTF-8; the sign for that stands for a letter that an editor has lost.
    fs.writeFileSync(file, mend + lines.map((line) => `${line.replaceAll('\ufffd', '?')}\n`).join(''))
    fs.fsyncSync(file)
  } finally {
    fs.closeSync(file)
  }
}

function readPart(path: string, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  const file = patiently(() => fs.openSync(path, 'r'))
  try {
    return bytes.subarray(0, fs.readSync(file, bytes, 0, length, at))
  } finally {
    fs.closeSync(file)
  }
}

const beginningOf = (path: string) => readPart(path, 0, 4096).toString()

/** The first line may be torn, and the names in a line may have another order. */
const isOfReceipts = (text: string) => isBegun(text) || /^\{(?=.*"iccid":")(?=.*"directory":")/m.test(text)

/**
 * Reads receipts: files, or all that are in a directory.
 * @param warn gets what may be missing
 * @throws {Failure} `usage` if a line is no receipt, `disk` if a file can't be read
 */
export function readReceipts(paths: readonly string[], warn = (_: string) => {}): Receipt[] {
  return paths.flatMap((path) => {
    try {
      return filesAt(path, warn).flatMap((file) => readFile(file, warn))
    } catch (error) {
      const hint = 'name each file of receipts, or a directory with all of them'
      throw diskFailure(`can't read the receipts ${path}`, error, hint)
    }
  })
}

/** In a directory and all below it, every file that begins as a receipt: archives give them other names. */
function filesAt(path: string, warn: (text: string) => void): string[] {
  if (!fs.statSync(path).isDirectory()) return [path]
  // Also what an editor or another program has written again, or cut: it is refused, and not passed over.
  const { files = [], others = [] } = Object.groupBy(filesBelow(path).sort(), (each) =>
    isOfReceipts(beginningOf(each).replace(/[^!-~\n]/g, '')) ? 'files' : 'others',
  )
  // What is packed, or comes from a spreadsheet, can't be known. In a backup there are profiles, and hidden files.
  const odd = others.filter((each) => !/(^|[/\\])\./.test(relative(path, each)) && !iccidOf(basename(each)))
  for (const each of odd.slice(0, 20))
    warn(`${each} has no receipts: if it is packed, or was saved by another program, name the original`)
  if (files.length > 0) return files
  throw new UsageError(`no file of receipts is in ${path}`, 'name each file of receipts')
}

/** What is at the root of a disk and closed to people, or was deleted. */
const OF_DISK = /^(lost\+found|\.Trash.*|\.Spotlight-V100|System Volume Information|\$RECYCLE\.BIN)$/i

const filesBelow = (path: string): string[] =>
  fs.readdirSync(path).flatMap((name) => {
    const each = join(path, name)
    // A link may lead nowhere.
    const status = OF_DISK.test(name) ? undefined : fs.statSync(each, { throwIfNoEntry: false })
    return status?.isDirectory() ? filesBelow(each) : status?.isFile() ? each : []
  })

function readFile(path: string, warn: (text: string) => void): Receipt[] {
  const lines = fs.readFileSync(path, 'utf8').split('\n')
  return lines.flatMap((line, at) => {
    const source = `${path}:${at + 1}`
    const receipt = parseReceipt(line)
    if (receipt !== undefined) return { ...receipt, source }
    // Of the file of a station, nothing is missing then; of a copy, nobody knows.
    if (isTorn(line) && line !== '' && at === lines.length - 1)
      warn(`${source} is cut off: if this file is a copy, name the original`)
    if (isTorn(line)) return []
    throw new UsageError(`${source} is not a receipt`, CHANGED_HINT)
  })
}

/** Strings of JSON, also one that has no end. */
const STRINGS = /"(?:[^"\\]|\\.?)*(?:"|$)/g

/** Whether a line is empty, or a call that was killed, a full disk or a power cut may have left it. */
function isTorn(line: string): boolean {
  // A power cut may leave zeros where something was about to be written.
  const text = line.replaceAll('\0', '').trim()
  return isBegun(text) && !text.includes(BEGINNING, 1) && !text.replace(STRINGS, '').includes('}')
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** @returns undefined if the line is not a whole receipt, or if it has lost a letter on its way */
function parseReceipt(line: string): Receipt | undefined {
  const fields = fieldsOf(line)
  const { time, station, iccid, device, directory } = fields
  if (!(isText(time) && isText(station) && isText(iccid) && isText(directory))) return undefined
  if (iccidOf(nameOf(iccid)) !== iccid || Number.isNaN(Date.parse(time))) return undefined
  if ((device !== null && !isText(device)) || line.includes('\ufffd')) return undefined
  return fields as unknown as Receipt
}
