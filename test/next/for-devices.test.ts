import { createHash } from 'node:crypto'
import { mkdirSync, renameSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { take } from '../../src/next/take.ts'
import { deviceIn } from '../../src/store/profile-file.ts'
import { FreeList } from '../../src/store/queue.ts'
import { iccid } from '../support/profiles.ts'
import { directory, names, path, read, source, textFor, unused, used, write } from './lot.ts'

/** Nobody else is there to wait for. */
vi.mock('../../src/pause.ts', () => ({ pause() {} }))

/** The devices that have a profile; '' for a used one that none has. */
const owners = () =>
  names()
    .filter((name) => name.startsWith('__'))
    .map((name) => deviceIn(read(name)) ?? '')
    .sort()

async function handOut(...devices: string[]): Promise<string[]> {
  const { taken } = await take(source(), { count: devices.length, devices })
  return taken.map((each) => each.iccid)
}

test('what a device has been assigned and another call takes is replaced', async () => {
  const stored = read(unused(1))
  await handOut('A')
  const first = read(used(1))
  // Another tool takes it over.
  write(used(1), stored)
  expect(await handOut('A')).toEqual([iccid(2)])
  expect(await handOut('A')).toEqual([iccid(2)])
  expect(owners()).toEqual(['', 'A'])
  // The used file is put back from a backup. The device has the later profile.
  write(used(1), first)
  expect(await handOut('A')).toEqual([iccid(2)])
})

test('its profile goes to another call, and the last one was reserved by a call that was killed', async () => {
  for (const device of 'AB') await handOut(device)
  const rival = source(() => {
    if (!names().includes(unused(3))) return
    renameSync(path(unused(3)), path(used(3)))
    FreeList.open(directory)?.reserve(1)
  })
  FreeList.drop(directory)
  const { taken } = await take(rival, { count: 1, devices: ['D'] })
  expect(taken).toMatchObject([{ iccid: iccid(4), device: 'D' }])
  expect(owners()).toEqual(['', 'A', 'B', 'D'])
})

test('another call is first for one of the devices, with what another one was to get: that one gets what is left', async () => {
  const rival = source(() => {
    const text = textFor('A', 2)
    mkdirSync(path('.devices'))
    write(`.devices/${createHash('sha256').update('a').digest('hex')}.1`, text)
    renameSync(path(unused(2)), path(used(2)))
    write(used(2), text)
  })
  const { taken } = await take(rival, { count: 4, devices: [...'ABCD'] })
  expect(taken.map((each) => each.iccid)).toEqual([2, 1, 3, 4].map((n) => iccid(n)))
})
