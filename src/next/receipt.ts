import { closeSync, fstatSync, openSync, readSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { Failure, reasonOf } from '../failure.ts'
import { flushFileSync } from '../store/flush/files.ts'
import { usedName } from '../store/names.ts'
import type { Ready } from './ready.ts'
import { isOutput } from './standard-output.ts'

/** In bytes; longer than any path and any serial number. */
const LONGEST_LINE = 16 * 1024

/** A file to which a line of JSON is appended for each profile that is about to be printed. No secret is in it. */
export class Receipt {
  readonly #path: string
  readonly #file: number

  /**
   * Opened before anything is claimed, so that a file that can't be written is found out then.
   * @param rights of a new file, as mode bits
   * @throws {Failure} `disk`
   */
  constructor(path: string, rights: number) {
    this.#path = path
    try {
      if (!takesReceipts(path)) {
        throw new Failure('usage', `${path} is not a file of receipts`, {
          hint: 'name a new file, such as receipt.jsonl; nothing was claimed',
        })
      }
      this.#file = openSync(path, 'a', rights)
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
  append(directory: string, taken: readonly Ready[]): void {
    const [time, station] = [new Date().toISOString(), hostname()]
    const lines = taken.map(({ device, iccid, name, isAgain }) =>
      JSON.stringify({
        time,
        station,
        device: device ?? null,
        iccid,
        directory: resolve(directory),
        file: usedName(name),
        again: isAgain ?? false,
      }),
    )
    try {
      writeFileSync(this.#file, lines.map((line) => `${line}\n`).join(''))
      flushFileSync(this.#file)
    } catch (error) {
      throw new Error(`can't write the receipt ${this.#path}: ${reasonOf(error)}`, { cause: error })
    }
  }
}

/** What is there may be a key or a profile, and a pipe may have no reader. */
function takesReceipts(path: string): boolean {
  const status = statSync(path, { throwIfNoEntry: false })
  if (status === undefined) return true
  if (isOutput(status)) return false
  if (!status.isFile() || status.size === 0) return status.isFile()
  const last = readEnd(path).trimEnd().split('\n').at(-1) ?? ''
  return /^\{"time":".*"again":(true|false)\}$/.test(last)
}

/** Receipts are short: the last one is in the last part of the file. */
function readEnd(path: string): string {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const bytes = Buffer.alloc(Math.min(size, LONGEST_LINE))
    readSync(file, bytes, 0, bytes.length, size - bytes.length)
    return bytes.toString('utf8')
  } finally {
    closeSync(file)
  }
}
