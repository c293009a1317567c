import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { namesIn } from '../support/directory.ts'
import { hasSmallDisks, type SmallDisk, smallDisk } from '../support/disk.ts'
import { startSandbox } from '../support/sandbox.ts'
import { until } from '../support/softsim.ts'

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

  test.each([0, 70, 140])('%i blocks left: all is stored or saved; the next call stores it', async (left) => {
    const { sandbox, directory, run } = await fetchWhile(left)
    expect([run.code, run.stdout]).toEqual([9, ''])
    expect(run.stderr).toMatch(/^softsim: stored 100 of 300 profiles in .+, 200 more put aside there \(2 /m)
    expect(run.stderr).toMatch(/no space left.*\nsoftsim: hint: run fetch or next again .*put aside.*\n$/)
    expect(namesIn(directory)).toHaveLength(100)

    disk.clear()
    const again = await sandbox.fetch(['-n', '1', '-o', directory])
    expect(again).toMatchObject({ code: 0 })
    expect(again.stderr).toContain(`stored what an interrupted call received: 200 new profiles`)
    expect(namesIn(directory)).toEqual([...sandbox.delivered.keys()].map((iccid) => `${iccid}.json`).sort())
    const seen = readdirSync(directory).filter((name) => name.startsWith('.'))
    expect(seen).toEqual(['.identity', '.incoming', '.unused'])
    expect(readdirSync(join(directory, '.incoming'))).toEqual([])
  })
})
