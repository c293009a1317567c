import fc from 'fast-check'
import { afterEach, describe, test, vi } from 'vitest'
import { cutPower } from './disk.ts'
import { chooser, crashAnywhere, endModel, Model, type Operation, onlyNew, type Start } from './model.ts'

vi.mock('node:fs', async () => {
  const { diskSync } = await import('./disk-fs.ts')
  return { ...diskSync, default: diskSync }
})
vi.mock('node:fs/promises', async () => {
  const { diskPromises } = await import('./disk-fs.ts')
  return { ...diskPromises, default: diskPromises }
})

/** So that the same disk comes of the same steps. */
vi.mock('node:crypto', async (original) => {
  const model = await import('./model.ts')
  return { ...(await original<typeof import('node:crypto')>()), randomUUID: () => model.nextUuid() }
})

vi.mock('../../src/store/flush/file-system.ts', async () => {
  const { flushAll } = await import('./disk.ts')
  return {
    FileSystemFlush: class {
      isFor = async () => true
      flush = async () => flushAll()
    },
  }
})

afterEach(endModel)

const fetch = (count: number): Operation => ({ does: 'fetch', count, again: false })
const next = (count: number): Operation => ({ does: 'next', count })

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
const operations = fc.array(operation, { minLength: 1, maxLength: 5 })

/** What a power cut keeps of one directory after the other, and of one file after the other. */
const shares = fc.array(fc.constantFrom<number[]>(0, 0.3, 0.7, 1), { minLength: 1, maxLength: 7 })

/** The first sequence of all: every one of its crashes is a case that matters. */
const EXAMPLE: Operation[] = [fetch(3), next(1)]

/** The disk of the model has POSIX's rules and names. */
describe.skipIf(process.platform === 'win32')('no duplicate, no loss', () => {
  const FLUSHES: [string, Start][] = [
    ['each file is flushed', {}],
    ['all is flushed in one go', { whole: true }],
    ['names have a journal', { journal: true }],
  ]

  test.each(FLUSHES)('for any calls, wherever the last one crashes: %s', async (_, start) => {
    await fc.assert(
      fc.asyncProperty(operations, (all) => crashAnywhere(start, all)),
      { numRuns: 30, examples: [[EXAMPLE], [EXAMPLE.slice(0, 1)], [[...EXAMPLE, next(3)]]] },
    )
  })

  test.each(FLUSHES)('the same with a power cut, which undoes unflushed changes: %s', async (_, start) => {
    await fc.assert(
      fc.asyncProperty(operations, shares, (all, shares) => crashAnywhere(start, all, chooser(shares))),
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

  /** One operation that may crash, and may end in a power cut. */
  interface Blow {
    operation: Operation
    steps: number
    cut: number[] | null
  }

  const blow: fc.Arbitrary<Blow> = fc.record({ operation, steps: fc.nat(30), cut: fc.option(shares) })

  const blows = fc.asyncProperty(fc.array(blow, { minLength: 1, maxLength: 8 }), async (all) => {
    const model = Model.begin()
    for (const { operation, steps, cut } of all) {
      const { isDead } = await model.run(operation, steps)
      if (cut !== null) cutPower(chooser(cut))
      model.check(!isDead && cut === null && operation.does !== 'spoil')
    }
    await model.finish()
  })

  test('several crashes, one after the other', async () => {
    await fc.assert(blows, { numRuns: 200 })
  })

  /** Cases of the test before that have found something, by the seed and the number of the run. */
  const FOUND = [{ seed: 1_818_738_312, path: '174' }]

  test.each(FOUND)('several crashes, seed $seed, run $path', async (found) => {
    await fc.assert(blows, { ...found, numRuns: 1 })
  })

  /** The power cut keeps nothing that was not flushed, or all of it in every other directory and file. */
  const STARTS: [string, Start, number[]][] = [
    ['with hard links', { nested: true }, [0]],
    ['flushed in one go', { nested: true, whole: true }, [0, 1]],
    ['with a journal', { nested: true, journal: true }, [0]],
    ['without hard links', { nested: true, links: false }, [0, 1]],
    ['on FAT', { nested: true, fat: true }, [0, 1]],
  ]

  test.each(STARTS)(
    'a crash anywhere in a fetch, and a power cut anywhere in the next one, %s',
    async (_, start, cut) => {
      const isNew = onlyNew()
      for (const first of await Model.begin(start).wrecks(fetch(1))) {
        const survivor = first.resume()
        survivor.check(false)
        for (const second of await survivor.wrecks(fetch(1))) {
          const last = second.resume(chooser(cut))
          last.check(false)
          if (isNew(last)) await last.finish()
        }
      }
    },
  )

  const pulled = fc.asyncProperty(operations, async (all) => {
    const model = Model.begin({ fat: true })
    for (const each of all) {
      await model.run(each)
      // Nothing waits to be flushed that matters: of all else the pulled stick has nothing.
      cutPower(() => 0)
      model.check(false)
    }
    await model.finish()
  })

  test('a FAT stick that is pulled out after each call', async () => {
    await fc.assert(pulled, { numRuns: 60, examples: [[EXAMPLE]] })
  })

  test('a FAT stick that is pulled out after a recovery', async () => {
    const isNew = onlyNew()
    for (const first of await Model.begin({ fat: true }).wrecks(fetch(3))) {
      for (const second of [fetch(1), next(1)]) {
        const model = first.resume()
        await model.run(second)
        cutPower(() => 0)
        model.check(false)
        if (isNew(model)) await model.finish()
      }
    }
  })
})
