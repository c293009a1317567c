/** The model of a profile directory on the disk of disk.ts: what must be true of it, whatever happens to it. */
import { join } from 'node:path'
import { expect } from 'vitest'
import { look } from '../../scripts/torture/sight.ts'
import { claimAll, usedText } from '../../src/store/claim.ts'
import { claimsOf } from '../../src/store/create.ts'
import { flushDirectorySync } from '../../src/store/flush/directory.ts'
import { flushFiles } from '../../src/store/flush/files.ts'
import { add } from '../../src/store/incoming/add.ts'
import { hasIncoming } from '../../src/store/incoming/answers.ts'
import { recover } from '../../src/store/incoming/recover.ts'
import { openTarget } from '../../src/store/incoming/target.ts'
import { fileName, usedName } from '../../src/store/names.ts'
import { Queue } from '../../src/store/queue.ts'
import { readProfile, readUnused } from '../../src/store/read.ts'
import { iccid } from '../support/profiles.ts'
import { bury, cutPower, events, format, fs, image, live, lived, load, ROOT, saved, watched } from './disk.ts'
import { diskSync } from './disk-fs.ts'

/** What the stations and the fetches of a directory do. */
export type Operation =
  | { does: 'fetch'; count: number; again: boolean }
  | { does: 'next'; count: number }
  | { does: 'spoil'; text: string | undefined }

/** How an operation ended: after how many steps, and whether by a crash. */
export interface Life {
  readonly steps: number
  readonly isDead: boolean
}

/** What a power cut keeps of a list of that many unflushed changes or bytes. */
export type Choose = (length: number) => number

/** What the disk and the directory are like before the first operation. */
export interface Start {
  /** Whether the file system has hard links. */
  readonly links?: boolean
  /** Whether a new name has nothing in it until the file is flushed again. */
  readonly fat?: boolean
  /** Whether all of the disk can be flushed in one go. */
  readonly whole?: boolean
  /** Whether changes of names reach the disk in their order, whatever their directories. */
  readonly journal?: boolean
  /** Whether the directory above the profiles is missing too. */
  readonly nested?: boolean
}

let uuids = 0

/** The next one of the running process. */
export const nextUuid = () =>
  `00000000-0000-4000-8000-${String(process.pid * 1000 + uuids++).padStart(12, '0')}`

/** More than any process has: a process of the model is gone for the next one. */
const FIRST_PID = 5_000_000
const own = process.pid
const setPid = (pid: number) => Object.defineProperty(process, 'pid', { value: pid, configurable: true })

/** Ends the model in this process, whatever came of it. */
export function endModel(): void {
  bury()
  setPid(own)
}

/** Who is told nothing. */
const NOBODY = { warn() {}, tell() {} }

const SEALED = `${'A'.repeat(683)}=`

/** What has become of the profiles so far. */
interface Known {
  readonly printed: readonly string[]
  /** Those that must not be lost. */
  readonly kept: ReadonlySet<string>
  readonly last: readonly string[]
  readonly profiles: number
  readonly processes: number
}

const NOTHING: Known = { printed: [], kept: new Set(), last: [], profiles: 0, processes: 0 }

/** The disk and the model at some moment of an operation. */
export interface Wreck {
  /** Whether the operation was cut off. */
  readonly isDead: boolean
  /** Goes on from there, after a power cut if `choose` says what it keeps. It can be done any number of times. */
  readonly resume: (choose?: Choose) => Model
}

export class Model {
  readonly directory: string
  readonly printed: string[]
  readonly kept: Set<string>
  #last: readonly string[]
  #profiles: number
  #processes: number
  /** What the response of the `fetch` that is running has. */
  #received: readonly string[] = []

  private constructor(directory: string, { printed, kept, last, profiles, processes }: Known) {
    this.directory = directory
    this.printed = [...printed]
    this.kept = new Set(kept)
    this.#last = last
    this.#profiles = profiles
    this.#processes = processes
  }

  static begin({ nested = false, ...disk }: Start = {}): Model {
    format(disk)
    return new Model(nested ? join(ROOT, 'made', 'profiles') : join(ROOT, 'profiles'), NOTHING)
  }

  #known(): Known {
    const kept = new Set([...this.kept, ...this.#durable()])
    return {
      printed: [...this.printed],
      kept,
      last: this.#last,
      profiles: this.#profiles,
      processes: this.#processes,
    }
  }

  /** The same for two models that have the same future. */
  key(): string {
    const { kept, ...others } = this.#known()
    return JSON.stringify([[...kept], others, image()])
  }

  /** Runs an operation to its end. @returns where it could have been cut off, and its end */
  async wrecks(operation: Operation): Promise<Wreck[]> {
    const wrecks: Wreck[] = []
    const note = (isDead: boolean) => {
      const [disk, known] = [saved(), this.#known()]
      const resume = (choose?: Choose) => {
        load(disk)
        if (choose !== undefined) cutPower(choose)
        return new Model(this.directory, known)
      }
      wrecks.push({ isDead, resume })
    }
    await watched(
      () => note(true),
      () => this.run(operation),
    )
    note(false)
    return wrecks
  }

  /** Runs an operation as a process of its own, which crashes after `steps`. */
  async run(operation: Operation, steps?: number): Promise<Life> {
    setPid(FIRST_PID + this.#processes++)
    uuids = 0
    live(steps)
    try {
      await this.#do(operation)
    } catch (error) {
      if (!lived().isDead) throw error
    }
    const life = lived()
    bury()
    return life
  }

  async #do(operation: Operation): Promise<void> {
    if (operation.does === 'fetch') await this.#fetch(operation.count, operation.again)
    else if (operation.does === 'next') await this.#next(operation.count)
    else if (operation.text === undefined) diskSync.rmSync(join(this.directory, '.unused'))
    else if (diskSync.existsSync(this.directory))
      diskSync.writeFileSync(join(this.directory, '.unused'), operation.text)
  }

  /** As `softsim fetch` does, with an answer that may bring some of the last one once more. */
  async #fetch(count: number, again: boolean): Promise<void> {
    const target = await openTarget(this.directory)
    await recover(this.directory)
    events.length = 0
    const fresh = Array.from({ length: count }, () => iccid(++this.#profiles))
    this.#received = again ? [...this.#last.slice(0, 1), ...fresh] : fresh
    this.#last = fresh
    try {
      await add(
        target,
        this.#received.map((each) => ({ iccid: each, profile: SEALED })),
      )
      for (const each of this.#received) this.kept.add(each)
    } finally {
      for (const each of this.#durable()) this.kept.add(each)
      this.#received = []
    }
  }

  /** What has been received, if it is put aside or has a name. */
  #durable(): readonly string[] {
    const isAside = events.some(({ step, path }) => step === 'flush' && path.endsWith('.incoming'))
    const isPublished = events.some(
      ({ step, path }) => /^(link|rename)$/.test(step) && this.#received.some((each) => path.includes(each)),
    )
    return isAside || isPublished ? this.#received : []
  }

  /** As `softsim next` does; there is nothing to decrypt. */
  async #next(count: number): Promise<void> {
    if (hasIncoming(this.directory)) await recover(this.directory)
    if (!diskSync.existsSync(this.directory)) return
    const queue = new Queue(this.directory, NOBODY)
    const taken: string[] = []
    while (taken.length < count) {
      const iccids = queue.next(count - taken.length)
      if (iccids.length === 0) break
      const found = iccids.flatMap((each) => {
        const [name, stored] = [fileName(each), readProfile(this.directory, fileName(each))]
        // What is empty would be passed over as damaged.
        return stored === undefined || stored === '' ? [] : [{ each, text: usedText({ name, stored }) }]
      })
      const outcomes = await claimAll(
        this.directory,
        found.map(({ text }) => text),
      )
      taken.push(...found.filter((_, at) => outcomes[at]?.state === 'ours').map(({ each }) => each))
    }
    if (taken.length === 0) return
    await flushFiles(taken.map((each) => join(this.directory, usedName(fileName(each)))))
    flushDirectorySync(this.directory)
    this.printed.push(...taken)
  }

  /** @param isRecovered whether a call has run since the last crash */
  check(isRecovered: boolean): void {
    const { unused, used, torn, asides } = look(this.directory)
    const waits = new Set(isRecovered ? [] : asides.flatMap(({ iccids }) => iccids))
    // Without hard links a crash may leave an empty unused file: its contents are put aside, or were never durable.
    const begun = [...unused].filter((each) => this.#isEmpty(fileName(each)))
    const empty = begun.map(fileName)
    const isWhole = (each: string) =>
      used.has(each) || this.#isClaimed(each) || (unused.has(each) && !begun.includes(each))
    expect(new Set(this.printed).size, 'printed twice').toBe(this.printed.length)
    expect(
      this.printed.filter((each) => !used.has(each)),
      'printed and not used',
    ).toEqual([])
    expect(
      [...unused].filter((each) => used.has(each)),
      'unused and used',
    ).toEqual([])
    expect(
      torn.filter((name) => !empty.includes(name) && !this.#isClaimed(name.replace(/^__|\.json$/g, ''))),
      'torn',
    ).toEqual([])
    const lost = [...this.kept].filter((each) => !isWhole(each) && !waits.has(each))
    expect(lost, 'lost').toEqual([])
    if (!isRecovered) return
    expect(asides, 'still put aside').toEqual([])
    const free = [...unused].filter((each) => !used.has(each) && !this.#isClaimed(each))
    if (!fs.existsSync(this.directory)) return
    const listed = [...readUnused(this.directory).iccids].filter((each) => !this.#isClaimed(each))
    expect(listed, 'listed').toEqual(free.sort())
  }

  /** What the next call makes of it, and the one after: all that is left is handed out, once. */
  async finish(): Promise<void> {
    await this.run({ does: 'fetch', count: 1, again: false })
    this.check(true)
    await this.run({ does: 'next', count: 1000 })
    this.check(true)
    const { used } = look(this.directory)
    expect(
      [...this.kept].filter((each) => !used.has(each) && !this.#isClaimed(each)),
      'never handed out',
    ).toEqual([])
  }

  /** A call was cut off after it had decided that the profile is its own. */
  #isClaimed(name: string): boolean {
    return claimsOf(this.directory, name).length > 0
  }

  #isEmpty(name: string): boolean {
    return fs.statSync(join(this.directory, name)).size === 0
  }
}

/** Those that differ from all that were seen before. */
export function onlyNew(): (model: Model) => boolean {
  const seen = new Set<string>()
  return (model) => seen.size < seen.add(model.key()).size
}

/** Runs them all; the last one is cut off anywhere, and a power cut keeps what `choose` says. */
export async function crashAnywhere(start: Start, operations: readonly Operation[], choose?: Choose) {
  const model = Model.begin(start)
  for (const each of operations.slice(0, -1)) {
    await model.run(each)
    model.check(true)
  }
  const isNew = onlyNew()
  for (const last of operations.slice(-1))
    for (const { isDead, resume } of await model.wrecks(last)) {
      const survivor = resume(choose)
      survivor.check(!isDead && choose === undefined)
      if (isNew(survivor)) await survivor.finish()
    }
}

/** Keeps one share of the first list, another one of the next, and begins again at the end. */
export function chooser(shares: readonly number[]): Choose {
  let turn = 0
  return (length) => Math.round((shares[turn++ % shares.length] ?? 0) * length)
}
