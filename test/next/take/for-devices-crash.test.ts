import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { bury, cutPower, image, live, load, saved, watched } from '../../store/disk.ts'
import {
  begin,
  directory,
  flush,
  giveAway,
  handOut,
  names,
  owners,
  read,
  stored,
  unused,
  used,
} from './lot.ts'

/** Nobody else is there to wait for. */
vi.mock('../../../src/pause.ts', () => ({ pause() {} }))

vi.mock('node:fs', async () => {
  const { diskSync } = await import('../../store/disk-fs.ts')
  return { ...diskSync, default: diskSync }
})

beforeEach(() => begin())
afterEach(() => {
  vi.restoreAllMocks()
  bury()
})

/** The disk in memory has POSIX's rules and names. */
describe.skipIf(process.platform === 'win32')('one device, one profile', () => {
  /** What happened before, and what the call that crashes is for. */
  const STORIES: [string, () => Promise<unknown>, string[]][] = [
    ['the first call', async () => {}, ['A']],
    ['a panel', async () => {}, ['A', 'B', 'C']],
    ['a panel in which some have theirs', () => handOut('B'), ['A', 'B', 'C']],
    ['the same once more', () => handOut('A'), ['A']],
    [
      'a device whose profile went to another one',
      async () => {
        await handOut('A')
        giveAway(1)
      },
      ['A'],
    ],
  ]

  /** The process is killed, or the power is cut and that share of what is not flushed stays. */
  const ENDS = [undefined, 0, 0.5, 1]

  /**
   * Ends a call before each of its steps, in each way. From each disk that this leaves, asks once more for every
   * device, and then looks at the disk.
   */
  async function crashAnywhere(
    disk: object,
    [, before, devices]: (typeof STORIES)[number],
    look: (plain: number) => void,
  ) {
    begin(disk)
    await before()
    const plain = owners().filter((owner) => owner === '').length
    flush(directory)
    const wrecks: ReturnType<typeof saved>[] = []
    live()
    const printed = await watched(
      () => void wrecks.push(saved()),
      () => handOut(...devices),
    )
    bury()
    const whole = saved()
    const seen = new Set<string>()
    for (const [step, wreck] of [...wrecks, whole].entries()) {
      for (const share of ENDS) {
        load(wreck)
        if (share !== undefined) cutPower((length) => Math.round(length * share))
        const has = wreck === whole ? printed : undefined
        if (seen.size === seen.add(`${has} ${image()}`).size) continue
        live()
        const again = []
        for (const device of devices) again.push(...(await handOut(device)))
        const when = `crash at step ${step}, of what was not flushed stays ${share}`
        expect(new Set(again).size, when).toBe(devices.length)
        if (has !== undefined) expect(again, when).toEqual(has)
        for (const device of devices)
          expect(
            owners().filter((owner) => owner === device),
            when,
          ).toHaveLength(1)
        look(plain)
        bury()
      }
    }
  }

  // A crash right after the used name is created leaves it empty: the profile counts as used and is not lost.
  test.each(STORIES)('after a crash anywhere in %s, each device gets exactly one', async (...story) => {
    await crashAnywhere({}, story, (plain) => {
      const aside = names().filter((name) => names().includes(`__${name}`))
      expect(aside.length).toBeLessThanOrEqual(1)
      expect(owners().filter((owner) => owner === '')).toHaveLength(plain)
    })
  })

  // There, a crash may leave a used name without a device: the profile counts as used and is not lost.
  test.each(STORIES.filter(([name]) => name !== 'a panel'))(
    'after a crash anywhere in %s on FAT, each device gets exactly one',
    async (...story) => {
      await crashAnywhere({ fat: true }, story, (plain) => {
        expect(owners().filter((owner) => owner === '').length - plain).toBeOneOf([0, 1])
        for (const [n, text] of stored) {
          const texts = [unused(n), used(n)].filter((name) => names().includes(name)).map(read)
          expect(texts.some((each) => each.includes(JSON.parse(text).profile))).toBe(true)
        }
      })
    },
  )
})
