import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { namesIn, temporaryDirectory } from '../support/directory.ts'
import { hasSmallDisks, type SmallDisk, smallDisk } from '../support/disk.ts'
import { iccid } from '../support/profiles.ts'
import { failure } from '../support/promises.ts'
import { startSandbox } from '../support/sandbox.ts'
import { until } from '../support/softsim.ts'
import { hasPosix, isRunByNode } from '../support/system.ts'

describe.skipIf(!hasSmallDisks)('a disk that fills up during a request', () => {
  let disk: SmallDisk
  afterEach(() => disk.close())

  /** A fetch of 300 whose second answer, of 200, comes when the disk has so many blocks left. */
  async function fetchWhile(blocksLeft: number) {
    disk = await smallDisk(16)
    const directory = join(disk.path, 'profiles')
    const sandbox = await startSandbox()
    const { promise, resolve: release } = Promise.withResolvers<void>()
    sandbox.fault({ kind: 'none' }, { kind: 'hold', until: promise })
    const { ended } = sandbox.startFetch(['-n', '300', '-o', directory])
    await until(() => sandbox.allocated.size === 300 && namesIn(directory).length === 100)
    disk.fill(blocksLeft)
    release()
    return { sandbox, directory, run: await ended }
  }

  test.each([
    [0, 100, 200],
    [70, 100, 200],
    [140, 100, 200],
  ])(
    '%i blocks left: everything is stored or saved and the summary says so; the next call stores the rest',
    async (blocksLeft, stored, aside) => {
      const { sandbox, directory, run } = await fetchWhile(blocksLeft)
      expect([run.code, run.stdout]).toEqual([9, ''])
      expect(run.stderr).toMatch(
        RegExp(`^softsim: stored ${stored} of 300 profiles in .+, ${aside} more put aside there \\(2 `, 'm'),
      )
      expect(run.stderr).toMatch(/no space left.*\nsoftsim: hint: run fetch or next again .*put aside.*\n$/)
      expect(namesIn(directory)).toHaveLength(stored)

      disk.clear()
      const again = await sandbox.fetch(['-n', '1', '-o', directory])
      expect(again).toMatchObject({ code: 0 })
      expect(again.stderr).toContain(`stored what an interrupted call received: ${aside} new profiles`)
      expect(namesIn(directory)).toEqual([...sandbox.delivered.keys()].map((iccid) => `${iccid}.json`).sort())
      expect(readdirSync(directory).filter((name) => name.startsWith('.'))).toEqual([
        '.identity',
        '.incoming',
        '.unused',
      ])
      expect(readdirSync(join(directory, '.incoming'))).toEqual([])
    },
  )
})

test.skipIf(!hasPosix)('a limit that the file system does not report: no request is sent', async () => {
  const { fetch, requests, directory } = await startSandbox()
  const run = await fetch(['-n', '100'], { shell: 'ulimit -f 40 && exec "$@"' })
  expect(run).toEqual(
    failure(
      9,
      /can't reserve disk space in .+/,
      /raise the file size limit \(ulimit -f\); .*100 profiles was not requested/,
    ),
  )
  expect(requests).toEqual([])
  expect(existsSync(directory)).toBe(false)
})

/** A file system that says that it is full; the Node that runs the program is spoilt for that. */
function fullFileSystem(): Record<string, string> {
  const spoiler = join(temporaryDirectory(), 'spoiler.cjs')
  const says = { bsize: 4096, blocks: 100_000, bfree: 10, bavail: 10, files: 100_000, ffree: 90_000 }
  writeFileSync(spoiler, `require('node:fs').statfsSync = () => (${JSON.stringify(says)})\n`)
  return { NODE_OPTIONS: `--require=${JSON.stringify(spoiler)}` }
}

test.skipIf(!isRunByNode).each<[string, string, RegExp]>([
  ['a batch', '40', /not enough disk space for 40 more profiles in .+: 656 kB needed, 41 kB free/],
  ['the order', '41', /not enough disk space for 41 profiles in .+: at least 42 kB needed, 41 kB free/],
  [
    'the order',
    '99999',
    /not enough disk space for 99999 profiles in .+: at least 102\.4 MB needed, 41 kB free/,
  ],
])('no space for %s of %s: no request is sent', async (_, count, why) => {
  const { fetch, requests, directory } = await startSandbox()
  const run = await fetch(['-n', count], { env: fullFileSystem() })
  expect(run).toEqual(
    failure(9, why, /free disk space or fetch fewer; .* not requested|free .*no profiles were requested/),
  )
  expect([requests, existsSync(directory)]).toEqual([[], false])
})

test('more than any disk can hold: no request is sent', async () => {
  const { fetch, requests, directory } = await startSandbox({ supply: 1 })
  const run = await fetch(['-n', '999999999'])
  expect(run.code).toBe(9)
  expect(run.stderr).toMatch(
    / for 999999999 profiles in .+: at least (1024\.0 GB|999999999 files) needed, .+ free\n/,
  )
  expect([requests, existsSync(directory)]).toEqual([[], false])
})

test.skipIf(!hasPosix)(
  'a response that is larger than its reserve and can’t be saved: the loss is reported, and no lost profile appears later',
  async () => {
    const { fetch, fault, directory } = await startSandbox()
    const sent = [1, 2].map((n) => ({ iccid: iccid(n), profile: 'A'.repeat(20_000) }))
    fault({ kind: 'replace', profiles: sent })
    const run = await fetch(['-n', '2'], { shell: 'ulimit -f 8 && exec "$@"' })
    expect(run).toMatchObject({ code: 9, stdout: '' })
    expect(run.stderr).toMatch(RegExp(`received and can't be stored: ${iccid(1)} ${iccid(2)}: `))
    expect(run.stderr).toMatch(/^softsim: stored 0 of 2 profiles in .+, 2 received but not stored \(/m)
    expect(existsSync(directory)).toBe(false)
  },
)
