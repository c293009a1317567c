import { type KeyObject, randomUUID } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { hostBinary } from '../package/host.ts'
import { alike, makeKey, type NthFile } from '../stock.ts'
import { type Line, time } from './run.ts'

const ROOT = join(import.meta.dirname, '../..')
const BUNDLE = join(ROOT, 'dist/softsim.cjs')
const BINARY = join(ROOT, hostBinary)

/**
 * Where everything is written: a temporary directory with a key pair and directories of profiles. Nothing in it is
 * removed before the end, since removing many files may slow down what comes next.
 */
export class Place {
  readonly privateKey: KeyObject
  /** A profile, encrypted. */
  readonly ciphertext: Buffer
  readonly publicKeyPath: string
  readonly root: string
  readonly bundle = BUNDLE
  readonly binary = BINARY
  readonly #nthFile: NthFile
  readonly #keyPath: string

  constructor(above: string) {
    for (const file of [BUNDLE, BINARY]) {
      if (!existsSync(file))
        throw new Error(`${file} is missing; create it with npm run package -- --only=host`)
    }
    this.root = mkdtempSync(join(above, 'softsim-bench-'))
    this.#keyPath = join(this.root, 'key.pem')
    this.publicKeyPath = join(this.root, 'public.pem')
    const { privateKey, publicKey, publicPem } = makeKey(this.#keyPath)
    writeFileSync(this.publicKeyPath, publicPem)
    this.privateKey = privateKey
    ;({ nthFile: this.#nthFile, ciphertext: this.ciphertext } = alike(publicKey))
  }

  /** The command line of `next`. */
  next(directory: string, options: Line = [], program: Line = [BINARY]): Line {
    return [...program, 'next', '-k', this.#keyPath, '-i', directory, ...options]
  }

  /** A path that nothing has been at before. */
  newPath(): string {
    return join(this.root, randomUUID())
  }

  /** A new directory of so many profiles. The first `used` are used; from `real` on, they are empty: nobody opens them. */
  async newDirectory(count: number, { used = 0, real = count } = {}): Promise<string> {
    const directory = this.newPath()
    mkdirSync(directory)
    for (let n = 0; n < count; n++) {
      const { name, text } = this.#nthFile(n)
      writeFileSync(join(directory, n < used ? `__${name}` : name), n < real ? text : '')
      if (n % 1000 === 0) await turn()
    }
    return directory
  }

  /** New directories of so many profiles after one call of `next`, and with that call's profile put back. */
  async newStations(stations: number, count: number): Promise<string[]> {
    const directories: string[] = []
    while (directories.length < stations) {
      const directory = await this.newDirectory(count)
      await time(this.next(directory))
      this.putBack(directory, 0)
      directories.push(directory)
    }
    return directories
  }

  /** Makes the nth profile of a directory unused again. The hint is ahead of it then, and goes on with the next. */
  putBack(directory: string, n: number): void {
    const { name } = this.#nthFile(n)
    renameSync(join(directory, `__${name}`), join(directory, name))
  }

  /** Removes the hint of a directory: the next call looks at all names. */
  dropHint(directory: string): void {
    rmSync(join(directory, '.unused'))
  }

  /** Remembers the hint of a directory. @returns what puts it back as it was */
  keepHint(directory: string): () => void {
    const [hint, kept] = [join(directory, '.unused'), this.newPath()]
    copyFileSync(hint, kept)
    return () => copyFileSync(kept, hint)
  }

  clear(): void {
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 })
  }
}
