/** A move that ends before each of its steps, in a kill or a power cut, on the disk in memory. */
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { takeHome } from '../../src/move/back.ts'
import { moveProfiles } from '../../src/move/move.ts'
import { toFile } from '../../src/store/incoming/answers.ts'
import { journalOf, openMoves } from '../../src/store/moves.ts'
import { readUnused } from '../../src/store/read.ts'
import { bury, cutPower, format, image, live, load, ROOT, saved, watched } from '../store/disk.ts'
import { iccid } from '../support/profiles.ts'

vi.mock('../../src/pause.ts', () => ({ pause() {} }))

vi.mock('node:fs', async () => {
  const { diskSync } = await import('../store/disk-fs.ts')
  return { ...diskSync, default: diskSync }
})
vi.mock('node:fs/promises', async () => {
  const { diskPromises } = await import('../store/disk-fs.ts')
  return { ...diskPromises, default: diskPromises }
})

const { diskSync } = await import('../store/disk-fs.ts')
const [source, target] = [join(ROOT, 'a'), join(ROOT, 'b')]
const messages = { warn() {}, tell() {} }
const ALL = [1, 2, 3].map((n) => iccid(n))

afterEach(bury)

const move = () =>
  moveProfiles({
    ...{ source, target, count: 2, receipt: undefined, messages },
    ...{ stop: new AbortController().signal, progress: { follow() {} } },
  })

function begin(disk: object): void {
  format(disk)
  live()
  for (const directory of [source, target]) diskSync.mkdirSync(directory)
  for (const each of ALL) {
    diskSync.writeFileSync(
      join(source, `${each}.json`),
      toFile({ iccid: each, profile: `${'A'.repeat(683)}=` }),
    )
    flush(join(source, `${each}.json`))
  }
  for (const each of [source, ROOT]) flush(each)
}

function flush(path: string): void {
  const file = diskSync.openSync(path, 'r')
  diskSync.fsyncSync(file)
  diskSync.closeSync(file)
}

const unused = (directory: string) => [...readUnused(directory).iccids].map((each) => each.slice(0, 20))

/** The process is killed, or the power is cut and that share of what is not flushed stays. */
const ENDS = [undefined, 0, 0.5, 1]

/** The disk in memory has POSIX's rules and names. */
describe.skipIf(process.platform === 'win32').each([
  ['', {}],
  ['with a journal, ', { journal: true }],
  ['on FAT, ', { fat: true }],
])('%sa move that ends before any of its steps', (_, disk) => {
  async function endAnywhere(after: (when: string, isDone: boolean) => Promise<void>): Promise<void> {
    begin(disk)
    const wrecks: ReturnType<typeof saved>[] = []
    await watched(() => void wrecks.push(saved()), move)
    bury()
    const whole = saved()
    const seen = new Set<string>()
    for (const [step, wreck] of [...wrecks, whole].entries())
      for (const share of ENDS) {
        load(wreck)
        if (share !== undefined) cutPower((length) => Math.round(length * share))
        if (seen.size === seen.add(image()).size) continue
        live()
        await after(`step ${step}, of what was not flushed stays ${share}`, wreck === whole)
        bury()
      }
    expect(seen.size).toBeGreaterThan(30)
  }

  test('is finished by the same command: each profile is unused in one place', async () => {
    await endAnywhere(async (when, isDone) => {
      if (isDone) expect(unused(target), when).toHaveLength(2)
      else
        await move().catch((error) =>
          expect([error.facts.kind, unused(target).length], when).toEqual([
            expect.stringMatching(/^too-few-to-move|none-to-move$/),
            2,
          ]),
        )
      expect([...unused(source), ...unused(target)].sort(), when).toEqual(ALL)
      expect(unused(target), when).toHaveLength(2)
      expect(
        openMoves(source).filter((each) => journalOf(each).fate !== 'back'),
        when,
      ).toEqual([])
    })
  })

  test('can be taken back before it is decided, and begun again', async () => {
    await endAnywhere(async (when) => {
      const isBack = await takeHome({ source, target, messages }).then(
        () => true,
        (error) => void expect(error.facts.kind, when).toBeOneOf(['no-move', 'not-taken-back']),
      )
      if (isBack) expect([unused(source).sort(), unused(target)], when).toEqual([ALL, []])
      if (unused(target).length < 2) await move()
      expect([...unused(source), ...unused(target)].sort(), when).toEqual(ALL)
      expect(unused(target), when).toHaveLength(2)
    })
  })
})
