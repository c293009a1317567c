import { closeSync, existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { flushDirectorySync } from '../../../src/store/flush/directory.ts'
import { ANSWER, formatAnswer, INCOMING } from '../../../src/store/incoming/answers.ts'
import { putAside, reserve } from '../../../src/store/incoming/reserve.ts'
import { createIncoming, openTarget } from '../../../src/store/incoming/target.ts'
import { bury, cutPower, format, live, lived, ROOT } from '../disk.ts'

vi.mock('node:fs', async () => {
  const { diskSync } = await import('../disk-fs.ts')
  return { ...diskSync, default: diskSync }
})

/** The disk has POSIX's rules and names. */
const isWindows = process.platform === 'win32'

const directory = join(ROOT, 'above', 'profiles')

/** An answer is a directory, with the answer in it. */
const textOf = (path: string) => {
  const inside = join(path, 'answer')
  const file = path.endsWith(ANSWER) ? inside : path
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

beforeEach(() => {
  format()
  live()
})

/** Everything that was not flushed is gone. */
function expectPlaceAfterPowerCut(): void {
  bury()
  cutPower(() => 0)
  expect(existsSync(join(directory, INCOMING))).toBe(true)
}

describe.skipIf(isWindows)('.incoming survives a power cut', () => {
  test('when it was created with its parent directories', async () => {
    await openTarget(directory)
    expectPlaceAfterPowerCut()
  })

  test('when it was created by a fetch that was killed before it flushed anything', async () => {
    for (const path of [join(ROOT, 'above'), directory, join(directory, INCOMING)]) mkdirSync(path)
    await openTarget(directory)
    expectPlaceAfterPowerCut()
  })

  test('when it was removed and created again', async () => {
    const target = await openTarget(directory)
    rmdirSync(join(directory, INCOMING))
    flushDirectorySync(directory)
    closeSync(createIncoming(target, 'new'))
    expectPlaceAfterPowerCut()
  })
})

test.skipIf(isWindows).each([false, true])(
  'an answer that is put aside survives a power cut, and is never on the disk beside its reserve; FAT: %s',
  async (fat) => {
    const answer = [{ iccid: '89881', profile: 'AAAA' }]
    for (let steps = 0, isAside = false; !isAside; steps++) {
      format({ fat })
      live()
      const target = await openTarget(directory)
      const name = await reserve(target, 1)
      live(steps)
      await putAside(target, name, answer).catch(() => {})
      isAside = !lived().isDead
      bury()
      cutPower(() => 0)
      const place = join(directory, INCOMING)
      const kept = readdirSync(place).filter((each) => each.startsWith(name))
      const isWhole = kept.some((each) => textOf(join(place, each)) === formatAnswer(answer))
      if (isAside) expect(isWhole).toBe(true)
      // The removal of the reserve would take its clusters, which are those of the answer.
      if (isWhole) expect(kept).toEqual([name + ANSWER])
    }
  },
)
