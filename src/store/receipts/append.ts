import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readSync,
  type Stats,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname } from 'node:path'
import { Failure, reasonOf } from '../../failure.ts'
import { fullPath } from '../../full-path.ts'
import { fileRights, rightsOf } from '../directory-entries.ts'
import { flushDirectorySync, flushFileSync } from '../flush/flush.ts'
import { looking } from '../listing.ts'
import { isProfileName, usedName } from '../names.ts'
import { attempt, patiently } from '../patience.ts'
import { stationName } from '../profile-file.ts'
import { BEGINNING, isBegun } from './read-receipts.ts'

const STANDARD_OUTPUT = 1

const LONGEST_ICCID = '9'.repeat(20)

/** In bytes: what `blocks` of a file counts. */
const BLOCK = 512

/** Where a profile went. */
export interface Entry {
  /** The digits, without a filler. */
  readonly iccid: string
  /** The name of the unused file. */
  readonly name: string
  readonly device?: string | undefined
  readonly isAgain?: boolean
  /** The directory that it is moved to, and the id of the move. */
  readonly to?: { readonly directory: string; readonly move: string; readonly from?: string | undefined }
}

/** What makes the lines of a receipt longer. */
interface Longest {
  /** All serial numbers. */
  readonly devices?: readonly string[] | undefined
  readonly to?: Entry['to']
}

/** A file to which a line of JSON is appended for each profile that is printed or moved. No secret is in it. */
export class ReceiptFile {
  readonly path: string
  readonly #file: number
  /** Absolute. */
  readonly #directory: string

  /**
   * Opened before anything is claimed, so that a file that can't be written is found out then.
   * @param directory that of the profiles; a new file gets their rights
   * @param count how many lines are to come
   * @param longest what a line may have beside the ICCID: one for each, or one for all
   * @throws {Failure} `usage`, `no-directory` or `disk`
   */
  constructor(path: string, directory: string, count: number, longest: Longest = {}) {
    this.path = path
    const full = fullPath(directory)
    if (full === undefined) throw new Failure('current-directory-gone', 'the current directory is gone')
    this.#directory = full
    const rights = looking(directory, () => fileRights(rightsOf(directory)))
    try {
      if (isProfileName(basename(path)))
        throw new Failure('profile-as-receipt', `${path}: a receipt can't have the name of a profile`)
      if (!takesReceipts(path)) throw new Failure('no-receipts', `${path} is not a file of receipts`)
      this.#file = patiently(() => openSync(path, 'a+', rights))
      if (!hasRoom(path, this.#file, this.#sizeOf(count, longest)))
        throw new Failure('space-for-receipt', `not enough disk space for the receipt ${path}`)
      // A power cut could take the name of a new file, and all that was appended with it.
      // A user may append to a file in a directory that this user can't read.
      if (fstatSync(this.#file).size === 0) attempt(() => flushDirectorySync(dirname(path)))
    } catch (error) {
      throw error instanceof Failure ? error : unwritten(path, error)
    }
  }

  /**
   * Appends all lines with one write, and flushes them.
   * @throws {Error} that says so
   */
  append(taken: readonly Entry[]): void {
    const text = this.#linesOf(taken)
    try {
      writeFileSync(this.#file, isTorn(this.#file) ? `\n${text}` : text)
      flushFileSync(this.#file)
    } catch (error) {
      throw new Error(`can't write the receipt ${this.path}: ${reasonOf(error)}`, { cause: error })
    }
  }

  /** In bytes, at most: a line break before the lines, and the lines. */
  #sizeOf(count: number, { devices = [], to }: Longest): number {
    const line = this.#linesOf([{ iccid: LONGEST_ICCID, name: `${LONGEST_ICCID}.json`, ...(to && { to }) }])
    return 1 + count * Buffer.byteLength(line) + Buffer.byteLength(JSON.stringify(devices))
  }

  #linesOf(entries: readonly Entry[]): string {
    const [time, station] = [new Date().toISOString(), stationName()]
    const lines = entries.map(({ device, iccid, name, isAgain, to }) =>
      JSON.stringify({
        time,
        station,
        device: device ?? null,
        iccid,
        directory: this.#directory,
        file: usedName(name),
        again: isAgain ?? false,
        ...(to && { to: to.directory, move: to.move, from: to.from }),
      }),
    )
    return lines.map((line) => `${line}\n`).join('')
  }
}

const unwritten = (path: string, error: unknown) =>
  new Failure(
    { kind: 'unwritten-receipt', path },
    `can't write the receipt ${path}: ${reasonOf(error)}`,
    error,
  )

/**
 * Finds out, without making the file, what `ReceiptFile` would.
 * @throws {Failure} as `ReceiptFile`
 */
export function checkReceiptFile(...file: ConstructorParameters<typeof ReceiptFile>): void {
  const [path] = file
  if (existsSync(path)) return void new ReceiptFile(...file)
  try {
    accessSync(dirname(path), constants.W_OK)
  } catch (error) {
    throw unwritten(path, error)
  }
}

/**
 * Whether so many bytes more can fit. Otherwise, each call would claim a profile and fail. If the file system does not
 * tell, writing will.
 */
const hasRoom = (path: string, file: number, bytes: number): boolean =>
  attempt(() => {
    // Not even root can use all of the other blocks that are free: ext4 keeps some for itself.
    const { bavail, blocks, bsize } = statfsSync(path)
    if (!(blocks > 0 && bsize > 0 && bavail * bsize < bytes)) return true
    const status = fstatSync(file)
    return status.blocks * BLOCK - status.size >= bytes - bavail * bsize
  }) ?? true

/**
 * What is there may be a key or a profile, and a pipe may have no reader. The end says nothing: a full disk, a power cut
 * or another process in the middle of its append leaves a part of a line there.
 */
function takesReceipts(path: string): boolean {
  const status = statSync(path, { throwIfNoEntry: false })
  if (status === undefined) return true
  if (isOutput(status)) return false
  if (!status.isFile() || status.size === 0) return status.isFile()
  const file = openSync(path, 'r')
  try {
    const [line = ''] = bytesOf(file, BEGINNING.length, 0).split('\n', 1)
    return line !== '' && isBegun(line)
  } finally {
    closeSync(file)
  }
}

/** Whether the last line of a file is not complete. */
function isTorn(file: number): boolean {
  const { size } = fstatSync(file)
  return size > 0 && bytesOf(file, 1, size - 1) !== '\n'
}

function bytesOf(file: number, length: number, at: number): string {
  const bytes = Buffer.alloc(length)
  return bytes.toString('latin1', 0, readSync(file, bytes, 0, length, at))
}

/** Whether a file is the one that standard output goes to. Windows can't describe a serial port, which is not a file. */
export const isOutput = (file: Stats, output = STANDARD_OUTPUT): boolean =>
  attempt(() => {
    const { dev, ino } = fstatSync(output)
    return file.dev === dev && file.ino === ino
  }) ?? false
