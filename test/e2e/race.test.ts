/** Stations that work in one directory at the same time. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { directoryOf, someProfiles, unusedIn, usedIn } from '../support/directory.ts'
import { lines } from '../support/promises.ts'
import { softsim } from '../support/softsim.ts'

const { privateKeyPath: KEY } = inject('keys')

/** Each is at two stations. */
const DEVICES = 24

const nextOf = (directory: string, ...more: string[]) =>
  softsim(['next', '-k', KEY, '-i', directory, '--format=raw', ...more])

/** The ICCIDs that a call printed. */
const printed = ({ stdout }: { stdout: string }) => lines(stdout).map((line) => JSON.parse(line).iccid)

/** A station: calls `next` until there are no more; gives the ICCIDs it got and how its last call ended. */
async function station(directory: string, ...more: string[]) {
  const iccids: string[] = []
  for (;;) {
    const run = await nextOf(directory, ...more)
    if (run.code !== 0) return { iccids, last: run, unusedThen: unusedIn(directory).length }
    iccids.push(...printed(run))
  }
}

test('8 stations empty a directory of 48 profiles: 48 different ones, and no call fails before that', async () => {
  const profiles = someProfiles(48)
  const directory = directoryOf(profiles)
  const stations = await Promise.all(Array.from({ length: 8 }, () => station(directory)))

  for (const { last, unusedThen } of stations) {
    expect(last).toMatchObject({ code: 3, stdout: '' })
    expect(unusedThen).toBe(0)
  }
  const handedOut = stations.flatMap(({ iccids }) => iccids).sort()
  expect(handedOut).toEqual(profiles.map(({ iccid }) => iccid))
  expect(usedIn(directory)).toHaveLength(48)
})

test('8 stations, each device at two of them at once: one profile each', async () => {
  const profiles = someProfiles(DEVICES)
  const directory = directoryOf(profiles)
  const scans = profiles.flatMap((_, n) => [`SN ${n}`, `SN ${n}`])
  const got = new Map<string, Set<string>>()
  const station = async () => {
    for (let device = scans.shift(); device !== undefined; device = scans.shift()) {
      const run = await nextOf(directory, '--device', device)
      expect(run).toMatchObject({ code: 0 })
      got.set(device, (got.get(device) ?? new Set()).add(printed(run).join()))
    }
  }
  await Promise.all(Array.from({ length: 8 }, station))
  expect([...got.values()].every((each) => each.size === 1)).toBe(true)
  expect(new Set([...got.values()].flatMap((each) => [...each])).size).toBe(DEVICES)
  expect([usedIn(directory).length, unusedIn(directory)]).toEqual([DEVICES, []])
  for (const name of usedIn(directory)) {
    const { device, iccid } = JSON.parse(readFileSync(join(directory, name), 'utf8'))
    expect(got.get(device)).toEqual(new Set([iccid]))
  }
  expect(readdirSync(join(directory, '.devices')).filter((name) => name.startsWith('~'))).toEqual([])
})

test('status never fails while stations are at work', async () => {
  const directory = directoryOf(someProfiles(24))
  const status = (each: string) => softsim(['status', '-i', each, '-k', KEY, '--format=json'])
  let isOver = false
  const station = async () => {
    while ((await nextOf(directory)).code === 0);
  }
  const stations = Promise.all([station(), station(), station()]).then(() => {
    isOver = true
  })
  let last = 24
  while (!isOver) {
    const run = await status(directory)
    if (run.code === 3) break
    const { unused, used } = JSON.parse(run.stdout)
    // A name that changes while the directory is read may be seen once, twice or not at all.
    expect([run.code, unused <= last, used <= 24]).toEqual([0, true, true])
    last = unused
  }
  await stations
  expect((await status(directory)).code).toBe(3)
})
