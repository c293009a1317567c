import type { KeyObject } from 'node:crypto'
import { Failure } from './errors.ts'
import { decrypt, parsePlaintext, parseStored, Refusal } from './profile/open.ts'
import type { HexOptions, Profile } from './profile/profile.ts'
import type { Report } from './report.ts'
import { claim, listUnused, readUnused, Unreadable } from './store/claim.ts'

/** One profile may be damaged; when as many as this in a row do not open, it is the key. */
const LOCKED_IN_A_ROW = 5
const MOST_WARNINGS = 20

export interface Taken {
  /** The file's name before it was claimed. */
  readonly name: string
  readonly iccid: string
  readonly profile: Profile
}

/**
 * Claims the unused profile with the lowest name among those that open and that a device would accept, and warns of
 * the files before it that are passed over. The claim is not flushed yet.
 * @throws {Failure} `no-profiles`, `unusable`, `key` or `disk`; nothing is claimed then
 */
export function take(directory: string, key: KeyObject, options: HexOptions, report: Report): Taken {
  for (;;) {
    const names = listUnused(directory)
    const search = new Search(directory, key, options)
    for (const name of names) {
      const profile = search.open(name)
      if (profile === undefined) continue
      if (claim(directory, name)) {
        warnOf(search.refusals, report)
        return { name, ...profile }
      }
      search.lost++
    }
    // What other processes took may have been replaced meanwhile: only a look that lost nothing is the last one.
    if (search.lost === 0) {
      if (names.length > 0 && !search.isKeyWrong) warnOf(search.refusals, report)
      throw search.failure(names.length)
    }
  }
}

/** One pass over a directory: what was refused on the way, and why. */
class Search {
  readonly refusals: string[] = []
  lost = 0
  #opened = 0
  #locked = 0
  #lockedInARow = 0
  readonly #directory: string
  readonly #key: KeyObject
  readonly #options: HexOptions

  constructor(directory: string, key: KeyObject, options: HexOptions) {
    this.#directory = directory
    this.#key = key
    this.#options = options
  }

  /** The profile in a file; undefined where it is gone or refused. */
  open(name: string): Omit<Taken, 'name'> | undefined {
    try {
      const text = readUnused(this.#directory, name)
      if (text === undefined) {
        this.lost++
        return undefined
      }
      const sealed = parseStored(name, text)
      const plaintext = decrypt(sealed, this.#key)
      this.#opened++
      this.#lockedInARow = 0
      return { iccid: sealed.iccid, profile: parsePlaintext(sealed, plaintext, this.#options) }
    } catch (error) {
      this.#refuse(name, error)
      return undefined
    }
  }

  get isKeyWrong(): boolean {
    return this.#locked > 0 && this.#opened === 0
  }

  failure(unused: number): Failure {
    const directory = this.#directory
    if (unused === 0) {
      return new Failure('no-profiles', `no unused profile in ${directory}`, {
        hint: `fetch more: softsim fetch -n <NUM_OF_PROFILES> -o ${directory}`,
      })
    }
    return this.isKeyWrong
      ? wrongKey(this.#locked)
      : new Failure('unusable', `none of the ${unused} unused profiles in ${directory} can be used`, {
          hint: 'the warnings above say why, file by file; nothing was claimed',
        })
  }

  #refuse(name: string, error: unknown): void {
    if (!(error instanceof Refusal || error instanceof Unreadable)) throw error
    this.refusals.push(`${name} is left as it is: ${error.message}`)
    if (!(error instanceof Refusal && error.fault === 'locked')) return
    this.#locked++
    this.#lockedInARow++
    if (this.#lockedInARow >= LOCKED_IN_A_ROW) throw wrongKey(this.#lockedInARow)
  }
}

const wrongKey = (tried: number) =>
  new Failure('key', `the private key does not open these profiles (${tried} tried)`, {
    hint: 'use the key whose public half was registered with the service when they were fetched; nothing was claimed',
  })

function warnOf(refusals: readonly string[], report: Report): void {
  for (const refusal of refusals.slice(0, MOST_WARNINGS)) report.warn(refusal)
  if (refusals.length > MOST_WARNINGS) report.warn(`… and ${refusals.length - MOST_WARNINGS} more files`)
}
