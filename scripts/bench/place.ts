import { execFileSync } from 'node:child_process'
import { type KeyObject, randomUUID } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { hostBinary } from '../package/host.ts'
import { alike, makeKey, type NthFile } from '../stock.ts'
import { type Line, time } from './run.ts'

const ROOT = join(import.meta.dirname, '../..')

/** The two builds of the program. */
export const BUNDLE: Line = [process.execPath, join(ROOT, 'dist/softsim.cjs')]
export const BINARY: Line = [join(ROOT, hostBinary)]

/** How a directory is filled; unused profiles that can be handed out by default. */
export interface Filling {
  /** The first so many are used. */
  readonly used?: number
  /** All but the first so many are empty: files that nobody opens. */
  readonly real?: number
}

/**
 * Where everything is written: a temporary directory with a key pair and directories of profiles. Nothing in it is
 * removed before the end, since removing many files may slow down what comes next.
 */
export class Place {
  readonly privateKey: KeyObject
  /** A profile, encrypted. */
  readonly ciphertext: Buffer
  readonly publicKeyPath: string
  readonly nthFile: NthFile
  /** The directory itself. */
  readonly root: string
  readonly #keyPath: string
  readonly #stop: AbortSignal

  /** @param stop ends everything at the next breath */
  constructor(above: string, stop: AbortSignal) {
    for (const [file = ''] of [BUNDLE.slice(1), BINARY]) {
      if (!existsSync(file))
        throw new Error(`${file} is missing; create it with npm run package -- --only=host`)
    }
    this.#stop = stop
    this.root = mkdtempSync(join(above, 'softsim-bench-'))
    this.#keyPath = join(this.root, 'key.pem')
    this.publicKeyPath = join(this.root, 'public.pem')
    const { privateKey, publicKey, publicPem } = makeKey(this.#keyPath)
    writeFileSync(this.publicKeyPath, publicPem)
    this.privateKey = privateKey
    ;({ nthFile: this.nthFile, ciphertext: this.ciphertext } = alike(publicKey))
  }

  /** The command line of `next`. */
  next(directory: string, program = BINARY, ...options: string[]): Line {
    return [...program, 'next', '-k', this.#keyPath, '-i', directory, ...options]
  }

  /** Copies of a file. */
  copies(path: string, count: number): string[] {
    return Array.from({ length: count }, () => {
      const copy = this.newPath()
      copyFileSync(path, copy)
      return copy
    })
  }

  version(): string {
    const [command = '', ...args] = BINARY
    return execFileSync(command, [...args, '-V'])
      .toString()
      .trim()
  }

  /** A path that nothing has been at before. */
  newPath(): string {
    return join(this.root, randomUUID())
  }

  /** A new directory of so many profiles. */
  async newDirectory(count: number, { used = 0, real = count }: Filling = {}): Promise<string> {
    const directory = this.newPath()
    mkdirSync(directory)
    for (let n = 0; n < count; n++) {
      const { name, text } = this.nthFile(n)
      writeFileSync(join(directory, n < used ? `__${name}` : name), n < real ? text : '')
      if (n % 1000 === 0) await this.breathe()
    }
    return directory
  }

  /** A new directory of so many profiles after one call of `next`, and with that call's profile put back. */
  async newStation(count: number): Promise<string> {
    const directory = await this.newDirectory(count)
    time(this.next(directory))
    this.putBack(directory, 0)
    return directory
  }

  /** Makes the nth profile of a directory unused again. The hint is ahead of it then, and goes on with the next. */
  putBack(directory: string, n: number): void {
    const { name } = this.nthFile(n)
    renameSync(join(directory, `__${name}`), join(directory, name))
  }

  /** Removes the hint of a directory: the next call looks at all names. */
  dropHint(directory: string): void {
    rmSync(join(directory, '.unused'))
  }

  /** Remembers the hint of a directory. */
  keepHint(directory: string): void {
    copyFileSync(join(directory, '.unused'), `${directory}.hint`)
  }

  /** Puts the hint back as it was. */
  restoreHint(directory: string): void {
    copyFileSync(`${directory}.hint`, join(directory, '.unused'))
  }

  /** Lets Ctrl-C through: whoever measures for long calls it in between. */
  async breathe(): Promise<void> {
    await turn()
    this.#stop.throwIfAborted()
  }

  clear(): void {
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 })
  }
}
