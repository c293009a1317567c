/** A damaged answer is paid for, and only a person can read the rest of it: no power cut may take it away. */
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  ANSWER,
  DAMAGED,
  formatAnswer,
  INCOMING,
  newAnswerName,
  toFile,
} from '../../../src/store/incoming/answers.ts'
import { recover } from '../../../src/store/incoming/recover.ts'
import { bury, cutPower, events, format, fs, live, lived, ROOT } from '../disk.ts'
import { diskSync } from '../disk-fs.ts'
import type { Choose } from '../model.ts'

vi.mock('node:fs', async () => {
  const { diskSync } = await import('../disk-fs.ts')
  return { ...diskSync, default: diskSync }
})
vi.mock('node:fs/promises', async () => {
  const { diskPromises } = await import('../disk-fs.ts')
  return { ...diskPromises, default: diskPromises }
})

const directory = join(ROOT, 'profiles')
const incoming = join(directory, INCOMING)
const profiles = ['89881', '89882', '89883'].map((iccid) => ({ iccid, profile: 'AAAA' }))
const text = formatAnswer(profiles).slice(0, -5)

function flush(path: string): void {
  const file = diskSync.openSync(path, 'r')
  diskSync.fsyncSync(file)
  diskSync.closeSync(file)
}

/** A disk on which a fetch was killed while it put an answer aside: all of that is durable. */
function begin(disk: object): void {
  format(disk)
  live()
  // More than any system gives.
  const name = newAnswerName().replace(`~${process.pid}~`, '~4194999~') + ANSWER
  for (const path of [directory, incoming]) diskSync.mkdirSync(path)
  diskSync.writeFileSync(join(incoming, name), text)
  for (const path of [join(incoming, name), incoming, directory, ROOT]) flush(path)
}

/** Of an answer of version 1.1, a file; today, a directory with the answer in it. */
function textOf(name: string): string {
  const path = join(incoming, name)
  if (!fs.statSync(path).isDirectory()) return String(fs.readFileSync(path))
  return fs.existsSync(join(path, 'answer')) ? String(fs.readFileSync(join(path, 'answer'))) : ''
}

const NOTHING: Choose = () => 0
const ALL: Choose = (length) => length

/** Recovers until the process dies after so many steps, then cuts the power, which keeps that much of what was not flushed. */
async function recoverOn(disk: object, keeps = NOTHING, steps?: number) {
  begin(disk)
  live(steps)
  const recovered = await recover(directory).catch((error) => {
    if (!lived().isDead) throw error
  })
  const { steps: made } = lived()
  bury()
  cutPower(keeps)
  const kept = fs.readdirSync(incoming).map(String)
  return { recovered, made, kept, texts: kept.map(textOf) }
}

afterEach(bury)

/** The disk in memory has POSIX's rules and names. */
describe.skipIf(process.platform === 'win32').each([
  ['with hard links', {}],
  ['on FAT', { fat: true }],
])('a damaged answer, %s', (_, disk) => {
  test('is kept, and so are its complete profiles', async () => {
    const { recovered, kept, texts } = await recoverOn(disk)
    expect(recovered?.stored).toEqual(['89881', '89882'])
    expect([kept, texts]).toEqual([[expect.stringMatching(RegExp(`${DAMAGED}$`))], [text]])
    expect(fs.readdirSync(directory).map(String).sort()).toEqual([INCOMING, '89881.json', '89882.json'])
    for (const each of profiles.slice(0, 2))
      expect(String(fs.readFileSync(join(directory, `${each.iccid}.json`)))).toBe(toFile(each))
  })

  // Not every file system keeps the order of two changes in a directory.
  test('is removed only when the names are flushed, the new one included', async () => {
    await recoverOn(disk)
    const removals = events.flatMap(({ step, path }, at) =>
      step === 'unlink' && path.endsWith(ANSWER) ? [events.slice(0, at)] : [],
    )
    // On FAT, the flush of a directory is followed by one of the directory above it.
    const last = removals[0]?.findLast(({ path }) => path !== directory)
    expect(last).toEqual({ step: 'flush', path: incoming })
  })

  test.each([
    ['nothing', NOTHING],
    ['all', ALL],
  ])(
    'is somewhere as a whole, wherever the power fails and %s is left of what was not flushed',
    async (_, keeps) => {
      const { made } = await recoverOn(disk, keeps)
      for (let at = 0; at <= made; at++) {
        expect((await recoverOn(disk, keeps, at)).texts, `step ${at}`).toContain(text)
      }
    },
  )
})
