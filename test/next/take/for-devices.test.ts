import { renameSync } from 'node:fs'
import { afterEach, expect, test, vi } from 'vitest'
import { takeForDevices } from '../../../src/next/take/for-devices.ts'
import { takeNextUnused } from '../../../src/next/take/next-unused.ts'
import { claimAll } from '../../../src/store/claim.ts'
import { recordAll } from '../../../src/store/devices.ts'
import { FreeList } from '../../../src/store/free-list.ts'
import { deviceIn } from '../../../src/store/use.ts'
import { iccid } from '../../support/profiles.ts'
import { decide, directory, names, path, read, source, textFor, unused, used, write } from './lot.ts'

/** Nobody else is there to wait for. */
vi.mock('../../../src/pause.ts', () => ({ pause() {} }))

afterEach(() => vi.restoreAllMocks())

const usedNames = () => names().filter((name) => name.startsWith('__'))
/** The devices that have a profile; '' for a used one that none has. */
const owners = () => usedNames().map((name) => deviceIn(read(name)) ?? '')

async function handOut(...devices: string[]): Promise<string[]> {
  const { taken } = await takeForDevices(source(), devices)
  return taken.map((each) => each.iccid)
}

/** Another tool takes a profile over. */
const giveAway = (n: number, stored: string) => write(used(n), stored)

test('what a device has been assigned and another call takes is replaced', async () => {
  const stored = read(unused(1))
  await handOut('A')
  const first = read(used(1))
  giveAway(1, stored)
  expect(await handOut('A')).toEqual([iccid(2)])
  expect(await handOut('A')).toEqual([iccid(2)])
  expect(owners().sort()).toEqual(['', 'A'])
  // The used file is put back from a backup. The device has the later profile.
  write(used(1), first)
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
    renameSync(path(unused(3)), path(used(3)))
    FreeList.open(directory)?.reserve(1)
  })
  FreeList.drop(directory)
  const { taken } = await takeForDevices(rival, ['D'])
  expect(taken).toMatchObject([{ iccid: iccid(4), device: 'D' }])
  expect(owners().sort()).toEqual(['', 'A', 'B', 'D'])
})

test('all that this call finds is reserved by other calls, which do not take it', async () => {
  const write = FreeList.write.bind(FreeList)
  vi.spyOn(FreeList, 'write').mockImplementation((...args) => {
    const isWritten = write(...args)
    FreeList.open(directory)?.reserve(4)
    return isWritten
  })
  expect(await handOut('A')).toEqual([iccid(1)])
  const { taken } = await takeNextUnused(source(), 3)
  expect(taken.map(({ name }) => name)).toEqual([2, 3, 4].map((n) => unused(n)))
})

test('a half claim of an earlier version keeps the unused file, and the next profile is taken', async () => {
  const stored = read(unused(1))
  const half = source(() => write(used(1), ''))
  const { taken } = await takeForDevices(half, ['A'])
  expect([taken.map(({ name }) => name), read(unused(1))]).toEqual([[unused(2)], stored])
})
