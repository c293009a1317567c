import { closeSync, fstatSync, openSync, readSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { Failure, reasonOf } from '../failure.ts'
import { flushFileSync } from '../store/flush/files.ts'
import { usedName } from '../store/names.ts'
import { fileRights, rightsOf } from '../store/rights.ts'
import type { Ready } from './ready.ts'
import { isOutput } from './standard-output.ts'

/** What every receipt begins with. */
const BEGINNING = '{"time":"'

/** A file to which a line of JSON is appended for each profile that is about to be printed. No secret is in it. */
export class Receipt {
  readonly #path: string
  readonly #file: number
  /** Absolute. */
  readonly #directory: string

  /**
   * Opened before anything is claimed, so that a file that can't be written is found out then.
   * @param directory that of the profiles; a new file gets their rights
   * @throws {Failure} `usage` or `disk`
   */
  constructor(path: string, directory: string) {
    this.#path = path
    this.#directory = absolute(directory)
    try {
      if (!takesReceipts(path)) {
        throw new Failure('usage', `${path} is not a file of receipts`, {
          hint: 'name a new file, such as receipt.jsonl; nothing was claimed',
        })
      }
      this.#file = openSync(path, 'a+', fileRights(rightsOf(directory)))
    } catch (error) {
      if (error instanceof Failure) throw error
      throw new Failure('disk', `can't write the receipt ${path}: ${reasonOf(error)}`, {
        hint: 'check --receipt and that its directory exists; nothing was claimed',
        cause: error,
      })
    }
  }

  /**
   * Appends all lines with one write, and flushes them.
   * @throws {Error} that says so
   */
  append(taken: readonly Ready[]): void {
    const [time, station] = [new Date().toISOString(), hostname()]
    const lines = taken.map(({ device, iccid, name, isAgain }) =>
      JSON.stringify({
        time,
        station,
        device: device ?? null,
        iccid,
        directory: this.#directory,
        file: usedName(name),
        again: isAgain ?? false,
      }),
    )
    try {
      const text = lines.map((line) => `${line}\n`).join('')
      writeFileSync(this.#file, isTorn(this.#file) ? `\n${text}` : text)
      flushFileSync(this.#file)
    } catch (error) {
      throw new Error(`can't write the receipt ${this.#path}: ${reasonOf(error)}`, { cause: error })
    }
  }
}

/** @throws {Failure} `disk` if the path is relative and the current directory was deleted */
function absolute(directory: string): string {
  try {
    return resolve(directory)
  } catch (cause) {
    throw new Failure('disk', `the current directory is gone: ${reasonOf(cause)}`, {
      hint: 'change to a directory that exists, then run the same command again; nothing was claimed',
      cause,
    })
  }
}

/**
 * What is there may be a key or a profile, and a pipe may have no reader. The end says nothing: a full disk, a power cut
 * or another process in the middle of its append leaves a part of a line there.
 */
function takesReceipts(path: string): boolean {
  const status = statSync(path, { throwIfNoEntry: false })
  if (status === undefined) return true
  if (isOutput(status)) return false
  if (!status.isFile() || status.size === 0) return status.isFile()
  const [line = ''] = beginningOf(path).split('\n', 1)
  return line !== '' && BEGINNING.startsWith(line)
}

/** As much of a file as a receipt must begin with. */
function beginningOf(path: string): string {
  const file = openSync(path, 'r')
  try {
    return bytesOf(file, BEGINNING.length, 0)
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
