import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { namesIn } from '../support/directory.ts'
import { hasSmallDisks, type SmallDisk, smallDisk } from '../support/disk.ts'
import { type Sandbox, startSandbox } from '../support/sandbox.ts'
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
    const run = sandbox.startFetch(['-n', '300', '-o', directory])
    await until(() => sandbox.allocated.size === 300 && namesIn(directory).length === 100)
    disk.fill(blocksLeft)
    release()
    return { sandbox, directory, run }
  }

  const expectAllStored = (directory: string, { delivered }: Sandbox) =>
    expect(namesIn(directory)).toEqual([...delivered.keys()].map((iccid) => `${iccid}.json`).sort())

  test('no room for the answer: it waits in memory, and says so', async () => {
    const { sandbox, directory, run } = await fetchWhile(0)
    await run.says('only in memory until there is room')
    expect(namesIn(directory)).toHaveLength(100)
    disk.clear()
    expect(await run.ended).toMatchObject({ code: 0, stdout: '' })
    expectAllStored(directory, sandbox)
  })

  test('no room, and Ctrl-C: what is lost is named', async () => {
    const { sandbox, run } = await fetchWhile(0)
    await run.says('only in memory until there is room')
    run.child.kill('SIGINT')
    const { code, stderr } = await run.ended
    expect(code).toBe(130)
    for (const iccid of [...sandbox.delivered.keys()].slice(100)) expect(stderr).toContain(iccid)
  })

  test('room for the answer, and not for its files: the next call stores it', async () => {
    const { sandbox, directory, run } = await fetchWhile(70)
    const { code, stderr } = await run.ended
    expect(code).toBe(9)
    expect(stderr).toMatch(/^softsim: stored 100 of 300 profiles in .+, 200 more put aside there \(2 /m)
    expect(namesIn(directory)).toHaveLength(100)
    disk.clear()
    const again = await sandbox.fetch(['-n', '1', '-o', directory])
    expect(again.stderr).toContain('stored 200 profiles that an interrupted fetch has received')
    expectAllStored(directory, sandbox)
    expect(readdirSync(join(directory, '.incoming'))).toEqual([])
  })
})
