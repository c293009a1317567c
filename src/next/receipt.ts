import { closeSync, fsyncSync, openSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { Failure, reasonOf } from '../failure.ts'
import { usedName } from '../store/names.ts'
import type { Ready } from './ready.ts'

/** A file to which a line of JSON is appended for each profile that is about to be printed. No secret is in it. */
export class Receipt {
  readonly #file: number

  /**
   * Opened before anything is claimed, so that a file that can't be written is found out then.
   * @throws {Failure} `disk`
   */
  constructor(path: string) {
    try {
      this.#file = openSync(path, 'a', 0o644)
    } catch (error) {
      throw new Failure('disk', `can't write the receipt ${path}: ${reasonOf(error)}`, {
        hint: 'nothing was claimed',
        cause: error,
      })
    }
  }

  /**
   * Appends all lines with one write, and flushes them.
   * @throws the system error
   */
  append(directory: string, taken: readonly Ready[]): void {
    const [time, station] = [new Date().toISOString(), hostname()]
    const lines = taken.map(({ device, iccid, name, isAgain }) =>
      JSON.stringify({
        time,
        station,
        device: device ?? null,
        iccid,
        directory,
        file: usedName(name),
        again: isAgain ?? false,
      }),
    )
    writeFileSync(this.#file, lines.map((line) => `${line}\n`).join(''))
    fsyncSync(this.#file)
  }

  close(): void {
    closeSync(this.#file)
  }
}
