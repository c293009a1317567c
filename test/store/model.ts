/** The model of a profile directory on the disk of disk.ts: what must be true of it, whatever happens to it. */
import { join } from 'node:path'
import { expect } from 'vitest'
import { look } from '../../scripts/torture/sight.ts'
import { claim } from '../../src/store/claim/claim.ts'
import { flushDirectorySync } from '../../src/store/flush/directory.ts'
import { flushFiles } from '../../src/store/flush/files.ts'
import { add } from '../../src/store/incoming/add.ts'
import { hasIncoming } from '../../src/store/incoming/answers.ts'
import { recover } from '../../src/store/incoming/recover.ts'
import { closeTarget, openTarget } from '../../src/store/incoming/target.ts'
import { fileName, usedName } from '../../src/store/names.ts'
import { Queue } from '../../src/store/queue.ts'
import { readProfile, readUnused } from '../../src/store/read.ts'
import { iccid } from '../support/profiles.ts'
import { bury, cutPower, events, format, fs, live, lived, ROOT } from './disk.ts'
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
  /** Whether the directory above the profiles is missing too. */
  readonly nested?: boolean
}

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

export class Model {
  readonly directory: string
  readonly printed: string[] = []
  readonly kept = new Set<string>()
  #last: string[] = []
  #profiles = 0
  #processes = 0

  constructor({ links = true, fat = false, whole = false, nested = false }: Start = {}) {
    format({ links, fat, whole })
    this.directory = nested ? join(ROOT, 'made', 'profiles') : join(ROOT, 'profiles')
  }

  /** Runs an operation as a process of its own, which crashes after `steps`. */
  async run(operation: Operation, steps?: number): Promise<Life> {
    setPid(FIRST_PID + this.#processes++)
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
    const iccids = again ? [...this.#last.slice(0, 1), ...fresh] : fresh
    this.#last = fresh
    try {
      await add(
        target,
        iccids.map((each) => ({ iccid: each, profile: SEALED })),
      )
      for (const each of iccids) this.kept.add(each)
    } finally {
      const isAside = events.some(({ step, path }) => step === 'flush' && path.endsWith('.incoming'))
      const isPublished = events.some(
        ({ step, path }) => /^(link|rename)$/.test(step) && iccids.some((each) => path.includes(each)),
      )
      if (isAside || isPublished) for (const each of iccids) this.kept.add(each)
    }
    await closeTarget(target)
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
      for (const each of iccids) {
        const text = readProfile(this.directory, fileName(each))
        // It would be passed over as damaged.
        if (text === '') continue
        const isOurs = text !== undefined && claim(this.directory, fileName(each), text)
        queue.noteGone(!isOurs)
        if (isOurs) taken.push(each)
      }
    }
    if (taken.length === 0) return
    await flushFiles(taken.map((each) => join(this.directory, usedName(fileName(each)))))
    flushDirectorySync(this.directory)
    this.printed.push(...taken)
  }

  /** @param isRecovered whether a call has run since the last crash */
  check(isRecovered: boolean): void {
    const { unused, used, halfClaimed, torn, asides } = look(this.directory)
    const waits = new Set(isRecovered ? [] : asides.flatMap(({ iccids }) => iccids))
    // Without hard links a crash may leave an empty unused file: its contents are put aside, or were never durable.
    const begun = [...unused].filter((each) => this.#isEmpty(fileName(each)))
    const empty = begun.map(fileName)
    const isWhole = (each: string) => used.has(each) || (unused.has(each) && !begun.includes(each))
    expect(new Set(this.printed).size, 'printed twice').toBe(this.printed.length)
    expect(
      this.printed.filter((each) => !used.has(each) || halfClaimed.has(each)),
      'printed and not used',
    ).toEqual([])
    expect(
      [...unused].filter((each) => used.has(each)),
      'unused and used',
    ).toEqual([])
    expect(
      torn.filter((name) => !empty.includes(name)),
      'torn',
    ).toEqual([])
    const lost = [...this.kept].filter((each) => !isWhole(each) && !waits.has(each))
    expect(lost, 'lost').toEqual([])
    if (!isRecovered) return
    expect(asides, 'still put aside').toEqual([])
    const free = [...unused].filter((each) => !used.has(each))
    if (free.length > 0) expect([...readUnused(this.directory).iccids]).toEqual(free.sort())
  }

  /** What the next call makes of it, and the one after: all that is left is handed out, once. */
  async finish(): Promise<void> {
    await this.run({ does: 'fetch', count: 1, again: false })
    this.check(true)
    await this.run({ does: 'next', count: 1000 })
    this.check(true)
    const { used } = look(this.directory)
    expect(
      [...this.kept].filter((each) => !used.has(each)),
      'never handed out',
    ).toEqual([])
  }

  #isEmpty(name: string): boolean {
    return fs.statSync(join(this.directory, name)).size === 0
  }
}

/** Runs them all; the last one crashes after `steps`, and a power cut keeps what `choose` says. */
export async function story(model: Model, operations: readonly Operation[], steps?: number, choose?: Choose) {
  for (const each of operations.slice(0, -1)) {
    await model.run(each)
    model.check(true)
  }
  const last = operations.at(-1)
  const life = last === undefined ? { steps: 0, isDead: false } : await model.run(last, steps)
  if (choose !== undefined) cutPower(choose)
  model.check(!life.isDead && choose === undefined)
  await model.finish()
  return life
}

/** Keeps one share of the first list, another one of the next, and begins again at the end. */
export function chooser(shares: readonly number[]): Choose {
  let turn = 0
  return (length) => Math.round((shares[turn++ % shares.length] ?? 0) * length)
}
