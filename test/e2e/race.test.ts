import { expect, inject, test } from 'vitest'
import { directoryOf, someProfiles, unusedIn, usedIn } from '../support/directory.ts'
import { lines } from '../support/promises.ts'
import { softsim } from '../support/softsim.ts'

const { privateKeyPath: KEY } = inject('keys')

/** A station: calls `next` until there are no more; gives the ICCIDs it got and how its last call ended. */
async function station(directory: string, ...more: string[]) {
  const iccids: string[] = []
  for (;;) {
    const run = await softsim(['next', '-k', KEY, '-i', directory, '--format=raw', ...more])
    if (run.code !== 0) return { iccids, last: run, unusedThen: unusedIn(directory).length }
    iccids.push(...lines(run.stdout).map((line) => JSON.parse(line).iccid))
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

test('stations that take panels and stations that take single profiles share a directory', async () => {
  const profiles = someProfiles(60)
  const directory = directoryOf(profiles)
  const panels = ['5', '7', '1', '1'].map((count) => station(directory, '-n', count))
  const stations = await Promise.all(panels)
  const rest = await station(directory)
  const handedOut = [...stations, rest].flatMap(({ iccids }) => iccids).sort()
  expect(handedOut).toEqual(profiles.map(({ iccid }) => iccid))
})
