import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { look } from '../../scripts/torture/sight.ts'
import { add } from '../../src/store/add.ts'
import { claim } from '../../src/store/claim.ts'
import { flushNames } from '../../src/store/flush.ts'
import { hasIncoming } from '../../src/store/incoming.ts'
import { fileName, usedName } from '../../src/store/names.ts'
import { Queue } from '../../src/store/queue.ts'
import { readProfile, readUnused } from '../../src/store/read.ts'
import { recover } from '../../src/store/recover.ts'
import { closeTarget, openTarget } from '../../src/store/target.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { bury, cutPower, diskSync, events, format, live, lived } from './disk.ts'

vi.mock('node:fs', async () => {
  const { diskSync } = await import('./disk.ts')
  return { ...diskSync, default: diskSync }
})
vi.mock('node:fs/promises', async () => {
  const { diskPromises } = await import('./disk.ts')
  return { ...diskPromises, default: diskPromises }
})

/** What the stations and the fetches of a directory do. */
type Operation =
  | { does: 'fetch'; count: number; again: boolean }
  | { does: 'next'; count: number }
  | { does: 'spoil'; text: string | undefined }

const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({
    does: fc.constant('fetch' as const),
    count: fc.integer({ min: 1, max: 3 }),
    again: fc.boolean(),
  }),
  fc.record({ does: fc.constant('next' as const), count: fc.integer({ min: 1, max: 3 }) }),
  fc.record({
    does: fc.constant('spoil' as const),
    text: fc.constantFrom(
      undefined,
      '',
      'softsim unused 1',
      `softsim unused 1       \n${'9'.padEnd(23)}\n`,
      '\0'.repeat(99),
    ),
  }),
)

/** More than any process has: a process of the model is gone for the next one. */
const FIRST_PID = 5_000_000
const own = process.pid
const setPid = (pid: number) => Object.defineProperty(process, 'pid', { value: pid, configurable: true })

/** The disk of the model has POSIX's rules and names. */
const isWindows = process.platform === 'win32'

const SEALED = `${'A'.repeat(683)}=`

/** The model: what must be true of the directory, whatever happens to it. */
class Model {
  readonly directory: string
  readonly printed: string[] = []
  readonly kept = new Set<string>()
  #last: string[] = []
  #profiles = 0
  #processes = 0

  constructor(place: string) {
    format(place)
    this.directory = join(place, 'profiles')
  }

  /** Runs an operation as a process of its own, which crashes after `steps`. */
  async run(operation: Operation, steps?: number): Promise<{ steps: number; isDead: boolean }> {
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
    else if (readdirSafely(this.directory))
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
        ({ step, path }) => step === 'link' && iccids.some((each) => path.includes(each)),
      )
      if (isAside || isPublished) for (const each of iccids) this.kept.add(each)
    }
    await closeTarget(target)
  }

  /** As `softsim next` does; there is nothing to decrypt. */
  async #next(count: number): Promise<void> {
    if (hasIncoming(this.directory)) await recover(this.directory)
    if (!readdirSafely(this.directory)) return
    const queue = new Queue(this.directory)
    const taken: string[] = []
    while (taken.length < count) {
      const iccids = queue.next(count - taken.length)
      if (iccids.length === 0) break
      for (const each of iccids) {
        const isThere = readProfile(this.directory, fileName(each)) !== undefined
        const isOurs = isThere && claim(this.directory, fileName(each))
        queue.noteGone(!isOurs)
        if (isOurs) taken.push(each)
      }
    }
    if (taken.length === 0) return
    await flushNames(
      this.directory,
      taken.map((each) => usedName(fileName(each))),
    )
    this.printed.push(...taken)
  }

  /** @param isRecovered whether a call has run since the last crash */
  check(isRecovered: boolean): void {
    const { unused, used, torn, asides } = look(this.directory)
    const waits = new Set(isRecovered ? [] : asides.flatMap(({ iccids }) => iccids))
    expect(new Set(this.printed).size, 'printed twice').toBe(this.printed.length)
    expect(
      this.printed.filter((each) => !used.has(each)),
      'printed and not used',
    ).toEqual([])
    expect(
      [...unused].filter((each) => used.has(each)),
      'unused and used',
    ).toEqual([])
    expect(torn, 'torn').toEqual([])
    const lost = [...this.kept].filter((each) => !unused.has(each) && !used.has(each) && !waits.has(each))
    expect(lost, 'lost').toEqual([])
    if (!isRecovered) return
    expect(asides, 'still put aside').toEqual([])
    if (unused.size > 0) expect(readUnused(this.directory).iccids).toEqual([...unused].sort())
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
}

const readdirSafely = (directory: string) => diskSync.existsSync(directory)

let place = ''
beforeEach(() => {
  place = join(temporaryDirectory(), 'disk')
})
afterEach(() => {
  bury()
  setPid(own)
})

/** Runs them all; the last one crashes after `steps`, and a power cut keeps what `choose` says. */
async function story(operations: readonly Operation[], steps?: number, choose?: (length: number) => number) {
  const model = new Model(place)
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

const operations = fc.array(operation, { minLength: 1, maxLength: 5 })

/** What a power cut keeps of one directory after the other, and of one file after the other. */
const shares = fc.array(fc.constantFrom<number[]>(0, 0.3, 0.7, 1), { minLength: 1, maxLength: 7 })

function chooser(shares: readonly number[]): (length: number) => number {
  let turn = 0
  return (length) => Math.round((shares[turn++ % shares.length] ?? 0) * length)
}

/** The first sequence of all: every one of its crashes is a case that matters. */
const EXAMPLE: Operation[] = [
  { does: 'fetch', count: 3, again: false },
  { does: 'next', count: 1 },
]

test.skipIf(isWindows)(
  'whatever the calls are, and wherever the last one crashes: nothing twice, nothing lost',
  async () => {
    await fc.assert(
      fc.asyncProperty(operations, async (all) => {
        const { steps } = await story(all)
        for (let at = 0; at < steps; at++) expect(await story(all, at)).toMatchObject({ isDead: true })
      }),
      {
        numRuns: 30,
        examples: [[EXAMPLE], [EXAMPLE.slice(0, 1)], [[...EXAMPLE, { does: 'next', count: 3 }]]],
      },
    )
  },
)

test.skipIf(isWindows)('the same with a power cut, which undoes what was not flushed', async () => {
  await fc.assert(
    fc.asyncProperty(operations, shares, async (all, shares) => {
      const choose = chooser(shares)
      const { steps } = await story(all, undefined, choose)
      for (let at = 0; at < steps; at++) await story(all, at, choose)
    }),
    {
      numRuns: 30,
      examples: [
        [EXAMPLE, [0]],
        [EXAMPLE, [1]],
        [EXAMPLE.slice(0, 1), [0]],
        [EXAMPLE.slice(0, 1), [0, 1]],
      ],
    },
  )
})

/** A fetch that has made a directory and was killed before it flushed it, and another one that relies on it. */
const killedAfter = (steps: number) => [
  { operation: { does: 'fetch' as const, count: 1, again: false }, steps, cut: null },
  { operation: { does: 'fetch' as const, count: 1, again: false }, steps: 6, cut: [0] },
]

test.skipIf(isWindows)(
  'two crashes, one after the other: what the first has left, the second does not lose',
  async () => {
    const crash = fc.record({ operation, steps: fc.nat(30), cut: fc.option(shares) })
    await fc.assert(
      fc.asyncProperty(fc.array(crash, { minLength: 1, maxLength: 8 }), async (crashes) => {
        const model = new Model(place)
        for (const { operation, steps, cut } of crashes) {
          const { isDead } = await model.run(operation, steps)
          if (cut !== null) cutPower(chooser(cut))
          model.check(!isDead && cut === null && operation.does !== 'spoil')
        }
        await model.finish()
      }),
      { numRuns: 200, examples: [[killedAfter(1)], [killedAfter(3)]] },
    )
  },
)
