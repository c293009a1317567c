import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { takeForDevices } from '../../../src/next/take/for-devices.ts'
import { takeNextUnused } from '../../../src/next/take/next-unused.ts'
import { claimAll, usedText } from '../../../src/store/claim.ts'
import { recordAll } from '../../../src/store/devices.ts'
import { Hint } from '../../../src/store/hint.ts'
import { bury, fs } from '../../store/disk.ts'
import { iccid } from '../../support/profiles.ts'
import {
  begin,
  directory,
  giveAway,
  handOut,
  names,
  owners,
  path,
  read,
  source,
  stored,
  unused,
  used,
  usedNames,
} from './lot.ts'

/** What happens at the first pause of a call. */
const station = vi.hoisted(() => ({ meanwhile: () => {} }))
vi.mock('../../../src/pause.ts', () => ({ pause: () => station.meanwhile() }))

vi.mock('node:fs', async () => {
  const { diskSync } = await import('../../store/disk-fs.ts')
  return { ...diskSync, default: diskSync }
})

const { diskSync } = await import('../../store/disk-fs.ts')

const textFor = (device: string | undefined, n: number) =>
  usedText({ name: unused(n), stored: stored.get(n) ?? '' }, device)

/** What a call leaves that was killed right after it had decided a name. */
function decide(key: string, text: string): void {
  for (const each of ['.claims', `.claims/${key}`]) diskSync.mkdirSync(path(each), { recursive: true })
  diskSync.writeFileSync(path(`.claims/${key}/nonce`), text)
}

beforeEach(() => begin())
afterEach(() => {
  station.meanwhile = () => {}
  vi.restoreAllMocks()
  bury()
})

/** The disk in memory has POSIX's rules and names. */
describe.skipIf(process.platform === 'win32')('one device, one profile', () => {
  test('the same device gets the same profile, another one another', async () => {
    expect(await handOut('A')).toEqual([iccid(1)])
    expect(await handOut('B')).toEqual([iccid(2)])
    expect(await handOut('A')).toEqual([iccid(1)])
    expect(await handOut('a', 'B')).toEqual([iccid(3), iccid(2)])
    expect(owners().sort()).toEqual(['A', 'B', 'a'])
  })

  test('the used file holds the profile and who has it', async () => {
    await handOut('SN 1/2')
    const record = JSON.parse(read(used(1)))
    expect(record).toMatchObject({ ...JSON.parse(stored.get(1) ?? ''), device: 'SN 1/2', file: unused(1) })
    expect(Date.parse(record.claimed)).toBeGreaterThan(0)
    expect(record.station).toMatch(/./)
    expect(names()).not.toContain(unused(1))
  })

  test('what a device has been assigned and another call takes is replaced', async () => {
    await handOut('A')
    const first = read(used(1))
    giveAway(1)
    expect(await handOut('A')).toEqual([iccid(2)])
    expect(await handOut('A')).toEqual([iccid(2)])
    expect(owners().sort()).toEqual(['', 'A'])
    // The used file is put back from a backup. The device has the later profile.
    diskSync.writeFileSync(path(used(1)), first)
    expect(await handOut('A')).toEqual([iccid(2)])
  })

  test.each(['A', 'B', undefined])(
    'a killed call has decided that the profile recorded for A goes to %s',
    async (device) => {
      const text = textFor('A', 1)
      await recordAll(directory, [{ text, records: 0 }])
      decide(iccid(1), device === 'A' ? text : textFor(device, 1))
      expect(await handOut('A')).toEqual([iccid(device === 'A' ? 1 : 2)])
      expect(names().filter((name) => name.includes(iccid(1)))).toEqual([
        device === undefined ? unused(1) : used(1),
      ])
    },
  )

  test('a profile that was moved away or deleted is told, and no other one is handed out', async () => {
    await recordAll(directory, [{ text: textFor('A', 1), records: 0 }])
    diskSync.unlinkSync(path(unused(1)))
    await expect(handOut('A')).rejects.toMatchObject({ facts: { kind: 'file-gone', name: unused(1) } })
    expect(usedNames()).toEqual([])
  })

  test('too few for a panel: nothing is claimed, and no device has one', async () => {
    await expect(handOut('A', 'B', 'C', 'D', 'E')).rejects.toMatchObject({ facts: { kind: 'too-few' } })
    expect(usedNames()).toEqual([])
    expect(await handOut('E')).toEqual([iccid(1)])
  })

  test('two calls at once for the same device print the same profile', async () => {
    for (const turn of ['A', 'B']) {
      const [first, second] = await Promise.all([handOut(turn), handOut(turn)])
      expect(first).toEqual(second)
    }
    expect(owners().sort()).toEqual(['A', 'B'])
  })

  test('another call for the same device has recorded the last profile: this one prints it', async () => {
    const others = [1, 2, 3].map((n) => textFor('X', n))
    await claimAll(directory, others)
    let isFirst = true
    const call = source()
    call.messages.tell = (_, text) => {
      if (!isFirst || !text.startsWith('reading')) return
      isFirst = false
      void recordAll(directory, [{ text: textFor('D', 4), records: 0 }])
    }
    const { taken } = await takeForDevices(call, ['D'])
    expect(taken).toMatchObject([{ iccid: iccid(4), device: 'D' }])
  })

  test('its profile goes to another call, and the last one was reserved by a call that was killed', async () => {
    for (const device of 'AB') await handOut(device)
    const rival = source(() => {
      if (!names().includes(unused(3))) return
      diskSync.renameSync(path(unused(3)), path(used(3)))
      Hint.open(directory)?.reserve(1)
    })
    Hint.drop(directory)
    const { taken } = await takeForDevices(rival, ['D'])
    expect(taken).toMatchObject([{ iccid: iccid(4), device: 'D' }])
    expect(owners().sort()).toEqual(['', 'A', 'B', 'D'])
  })

  test('all that this call finds is reserved by other calls, which do not take it', async () => {
    const write = Hint.write.bind(Hint)
    vi.spyOn(Hint, 'write').mockImplementation((...args) => {
      const isWritten = write(...args)
      Hint.open(directory)?.reserve(4)
      return isWritten
    })
    expect(await handOut('A')).toEqual([iccid(1)])
    const { taken } = await takeNextUnused(source(), 3)
    expect(taken.map(({ name }) => name)).toEqual([2, 3, 4].map(unused))
  })

  test('a half claim of an earlier version keeps the unused file, and the next profile is taken', async () => {
    const { taken } = await takeForDevices(
      source(() => diskSync.writeFileSync(path(used(1)), '')),
      ['A'],
    )
    expect(taken.map(({ name }) => name)).toEqual([unused(2)])
    expect(read(unused(1))).toBe(stored.get(1))
  })

  test('a tool that renames over what it finds wins, and the device gets another profile', async () => {
    const rival = source(() => {
      if (names().includes(unused(1))) diskSync.renameSync(path(unused(1)), path(used(1)))
    })
    const { taken } = await takeForDevices(rival, ['A'])
    expect(taken.map(({ name }) => name)).toEqual([unused(2)])
    expect(owners()).toEqual(['', 'A'])
    expect(fs.existsSync(path('.claims'))).toBe(true)
  })
})
