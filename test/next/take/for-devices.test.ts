import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { takeForDevices } from '../../../src/next/take/for-devices.ts'
import { takeNextUnused } from '../../../src/next/take/next-unused.ts'
import { begin as beginClaim } from '../../../src/store/claim/claim.ts'
import { createFrom, removeDraft, textFor, writeDraft } from '../../../src/store/devices/draft.ts'
import { completeFor, noteBegun, record } from '../../../src/store/devices/record.ts'
import { Hint } from '../../../src/store/hint.ts'
import { settledName } from '../../../src/store/names.ts'
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

/** Nobody else is there to wait for. */
vi.mock('../../../src/pause.ts', () => ({ pause() {} }))

vi.mock('node:fs', async () => {
  const { diskSync } = await import('../../store/disk-fs.ts')
  return { ...diskSync, default: diskSync }
})

const { diskSync } = await import('../../store/disk-fs.ts')
const profileOf = (n: number) => ({ name: unused(n), stored: stored.get(n) ?? '' })

/** What another call does for a device. */
function claimFor(device: string, n: number): void {
  const draft = writeDraft(directory, textFor(device, profileOf(n)))
  noteBegun(directory, device, unused(n))
  beginClaim(directory, unused(n), (path) => createFrom(draft, path))
  const assignment = record(directory, { device, name: unused(n) }, draft, 0)
  removeDraft(draft)
  if (assignment !== undefined) completeFor(directory, assignment)
}

/** Versions before 1.1.0 recorded a profile before they claimed it. */
function assign(device: string, n: number, turn = 1): void {
  const hash = createHash('sha256').update(device).digest('hex')
  diskSync.mkdirSync(path('.devices'), { recursive: true })
  diskSync.writeFileSync(path(`.devices/${hash}.${turn}`), textFor(device, profileOf(n)))
}

beforeEach(() => begin())
afterEach(() => {
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

  test('a device that has its profile keeps it, although another one is recorded after it', async () => {
    await handOut('A')
    assign('A', 2, 2)
    expect(await handOut('A')).toEqual([iccid(1)])
    expect(await handOut('B')).toEqual([iccid(2)])
  })

  test('a call was killed when it was about to claim what another device has begun to claim', async () => {
    const draft = writeDraft(directory, textFor('B', profileOf(1)))
    for (const device of 'AB') noteBegun(directory, device, unused(1))
    beginClaim(directory, unused(1), (path) => createFrom(draft, path))
    expect(await handOut('A')).toEqual([iccid(2)])
    expect(await handOut('B')).toEqual([iccid(1)])
  })

  test('a call that is not for the device has taken over the claim of its profile: the device gets another one', async () => {
    await handOut('A')
    diskSync.writeFileSync(path(unused(1)), stored.get(1) ?? '')
    const settled = path(settledName(unused(1)))
    for (const each of [settled, `${settled}/whose`]) diskSync.mkdirSync(each)
    expect(await handOut('A')).toEqual([iccid(2)])
    expect(read(used(1))).toBe(stored.get(1))
  })

  test('too few for a panel: nothing is claimed, and no device has one', async () => {
    await expect(handOut('A', 'B', 'C', 'D', 'E')).rejects.toEqual(
      expect.objectContaining({ facts: { kind: 'too-few' } }),
    )
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

  test('another call for the same device takes the last profile first: this one prints it too', async () => {
    let isLeft = true
    const call = source()
    call.messages.tell = (_, text) => {
      if (!isLeft || !text.startsWith('reading')) return
      isLeft = false
      for (const [n, device] of [...'ABCD'].entries()) claimFor(device, n + 1)
    }
    const { taken } = await takeForDevices(call, ['D'])
    expect(taken).toMatchObject([{ iccid: iccid(4), device: 'D', isAgain: true }])
    expect(owners().sort()).toEqual(['A', 'B', 'C', 'D'])
  })

  test('its profile goes to another device, and the last one was reserved by a call that was killed', async () => {
    for (const device of 'AB') await handOut(device)
    const rival = source(() => {
      claimFor('C', 3)
      Hint.open(directory)?.reserve(1)
    })
    Hint.drop(directory)
    const { taken } = await takeForDevices(rival, ['D'])
    expect(taken).toMatchObject([{ iccid: iccid(4), device: 'D', isAgain: false }])
    expect(owners().sort()).toEqual(['A', 'B', 'C', 'D'])
  })

  test('another call chose a profile that went to another device: the one that this call found is taken', async () => {
    for (const device of 'AB') await handOut(device)
    const rival = source(() => {
      if (names().includes(used(4))) return
      assign('D', 4)
      claimFor('C', 4)
    })
    const { taken } = await takeForDevices(rival, ['D'])
    expect(taken).toMatchObject([{ iccid: iccid(3), device: 'D', isAgain: false }])
    expect(owners().sort()).toEqual(['A', 'B', 'C', 'D'])
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

  test('a plain claim that has only its empty used name keeps the unused file', async () => {
    const rival = source(() => diskSync.writeFileSync(path(used(1)), ''))
    const { taken } = await takeForDevices(rival, ['A'])
    expect(taken.map(({ name }) => name)).toEqual([unused(2)])
    expect(read(unused(1))).toBe(stored.get(1))
  })

  test('a claim that came too late, because the device has another profile by now, is taken back', async () => {
    await handOut('A')
    const record = read(used(1))
    diskSync.unlinkSync(path(used(1)))
    diskSync.writeFileSync(path(unused(1)), stored.get(1) ?? '')
    const late = source(() => {
      if (names().includes(used(2))) return
      // Another call found the profile taken for a moment, and went on to the next one.
      const [first = ''] = fs.readdirSync(path('.devices')).map(String)
      const second = JSON.stringify({
        ...JSON.parse(record),
        ...JSON.parse(stored.get(2) ?? ''),
        file: unused(2),
      })
      diskSync.writeFileSync(path(join('.devices', first.replace(/1$/, '2'))), second)
      diskSync.writeFileSync(path(used(2)), second)
      diskSync.unlinkSync(path(unused(2)))
    })
    const { taken } = await takeForDevices(late, ['A'])
    expect(taken.map(({ name }) => name)).toEqual([unused(2)])
    expect([owners(), names().includes(unused(1))]).toEqual([['A'], true])
  })

  test('a tool that renames over what it finds wins, and the device gets another profile', async () => {
    const rival = source(() => {
      if (names().includes(unused(1))) diskSync.renameSync(path(unused(1)), path(used(1)))
    })
    const { taken } = await takeForDevices(rival, ['A'])
    expect(taken.map(({ name }) => name)).toEqual([unused(2)])
    expect(owners()).toEqual(['', 'A'])
  })
})
