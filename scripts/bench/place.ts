import { type KeyObject, randomUUID } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { hostBinary } from '../package/host.ts'
import { alike, makeKey, type NthFile } from '../stock.ts'
import { type Line, time } from './run.ts'

const BINARY = join(import.meta.dirname, '../..', hostBinary)

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
  readonly binary = BINARY
  readonly #nthFile: NthFile
  readonly #keyPath: string
  #inMemory: string | undefined

  constructor(above: string) {
    if (!existsSync(BINARY)) throw new Error(`${BINARY} is missing: npm run package -- --only=host`)
    this.root = mkdtempSync(join(above, 'softsim-bench-'))
    this.#keyPath = join(this.root, 'key.pem')
    this.publicKeyPath = join(this.root, 'public.pem')
    const { privateKey, publicKey, publicPem } = makeKey(this.#keyPath)
    writeFileSync(this.publicKeyPath, publicPem)
    this.privateKey = privateKey
    ;({ nthFile: this.#nthFile, ciphertext: this.ciphertext } = alike(publicKey))
  }

  /** The command line of `next`. */
  next(directory: string, options: Line = []): Line {
    return [BINARY, 'next', '-k', this.#keyPath, '-i', directory, ...options]
  }

  /** A path that nothing has been at before. */
  newPath(): string {
    return join(this.root, randomUUID())
  }

  /** The same on tmpfs. Linux alone has one in any case. */
  newPathInMemory(): string {
    this.#inMemory ??= mkdtempSync('/dev/shm/softsim-bench-')
    return join(this.#inMemory, randomUUID())
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

  /** A directory of so many profiles, half of them used, in which each call finds what the one before has found. */
  async newStation(count: number) {
    const used = count / 2
    const directory = await this.newDirectory(count, { used, real: used + 2 })
    const [list, kept] = [join(directory, '.unused'), this.newPath()]
    await time(this.next(directory))
    copyFileSync(list, kept)
    // Without the free list, a call takes the first; with it, the second.
    const names = [0, 1].map((n) => this.#nthFile(used + n).name)
    const putBack = () => {
      for (const name of names)
        if (existsSync(join(directory, `__${name}`)))
          renameSync(join(directory, `__${name}`), join(directory, name))
      copyFileSync(kept, list)
    }
    putBack()
    const next = () => time(this.next(directory)).finally(putBack)
    const nextWithoutList = () => {
      rmSync(list)
      return next()
    }
    return { next, nextWithoutList }
  }

  clear(): void {
    for (const each of [this.root, this.#inMemory ?? []].flat())
      rmSync(each, { recursive: true, force: true, maxRetries: 5 })
  }
}
