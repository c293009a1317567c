import { createPrivateKey } from 'node:crypto'
import { join } from 'node:path'
import { beforeEach, describe, expect, inject, test, vi } from 'vitest'
import { adviceOn } from '../../../src/advice/advice.ts'
import { Report } from '../../../src/cli/report.ts'
import type { Source } from '../../../src/next/ready.ts'
import { takeByIccid } from '../../../src/next/take/by-iccid.ts'
import { takeForDevices } from '../../../src/next/take/for-devices.ts'
import { takeNextUnused } from '../../../src/next/take/next-unused.ts'
import { flushDirectorySync } from '../../../src/store/flush/directory.ts'
import { cutPower, format, fs, live, ROOT } from '../../store/disk.ts'
import { chooser } from '../../store/model.ts'
import { iccid, plainProfile, storedFile } from '../../support/profiles.ts'

/** The path that the disk neither creates nor removes, nor gives to a file, and its reason. */
const disk = vi.hoisted(() => ({ refuses: '', reason: 'EIO' }))

/** Nobody else is there to wait for. */
vi.mock('../../../src/pause.ts', () => ({ pause() {} }))

vi.mock('node:fs', async () => {
  const { diskSync } = await import('../../store/disk-fs.ts')
  const refuse = (path: string) => {
    if (path === disk.refuses) throw Object.assign(new Error(disk.reason), { code: disk.reason })
  }
  const openSync = (path: string, flags: string, mode?: number) => {
    if (flags === 'wx') refuse(path)
    return diskSync.openSync(path, flags, mode)
  }
  const renameSync = (from: string, to: string) => {
    refuse(to)
    diskSync.renameSync(from, to)
  }
  const unlinkSync = (path: string) => {
    refuse(path)
    diskSync.unlinkSync(path)
  }
  const fs = { ...diskSync, openSync, renameSync, unlinkSync }
  return { ...fs, default: fs }
})

const { diskSync } = await import('../../store/disk-fs.ts')
const { privateKey, publicKey } = inject('keys')
const key = { object: createPrivateKey(privateKey), inFile: 1 }

const directory = join(ROOT, 'profiles')
const unused = (n: number) => `${iccid(n)}.json`
const used = (n: number) => `__${unused(n)}`
const back = (n: number) => `${iccid(n)}.2.json`
const path = (name: string) => join(directory, name)
const read = (name: string) => String(fs.readFileSync(path(name)))
const names = () => fs.readdirSync(directory).filter((name) => !String(name).startsWith('.'))

/** What is ready to be claimed may be claimed elsewhere, or something else may happen, before it is claimed here. */
function source(hold: () => void = () => {}): Source {
  const options = { smsp: false, smsc: true, crc: false }
  const signals = { stop: new AbortController().signal, hold }
  return { directory, key, options, format: 'raw', messages: new Report(() => {}), signals }
}

/** As another tool does it that shares the directory. */
const claimElsewhere = (n: number) => diskSync.renameSync(path(unused(n)), path(used(n)))

function flush(file: string): void {
  const opened = diskSync.openSync(file, 'r')
  diskSync.fsyncSync(opened)
  diskSync.closeSync(opened)
}

/** Begins with four profiles that are durable. */
function begin(disk = {}): void {
  format(disk)
  live()
  diskSync.mkdirSync(directory)
  for (const n of [1, 2, 3, 4]) {
    diskSync.writeFileSync(path(unused(n)), storedFile(plainProfile(n), publicKey))
    flush(path(unused(n)))
  }
  flush(directory)
  flush(ROOT)
}

beforeEach(() => {
  Object.assign(disk, { refuses: '', reason: 'EIO' })
  begin()
})

/** Something that happens once: what is found instead is not claimed elsewhere as well. */
function once(action: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) action()
    isDone = true
  }
}

/** Ends a call right before its claim. */
function stop(): never {
  throw new Error('stopped')
}

/** The disk in memory has POSIX's rules and names. */
describe.skipIf(process.platform === 'win32')('before and during the claim', () => {
  describe('a claim that another call wins', () => {
    test('--iccid: the profile is printed again, with a warning', async () => {
      const taking = takeByIccid(source(once(() => claimElsewhere(1))), iccid(1))
      await expect(taking).resolves.toMatchObject({ taken: [{ iccid: iccid(1), isAgain: true }] })
      expect(names()).toContain(used(1))
    })

    test('a single profile: the next one is taken', async () => {
      const { taken } = await takeNextUnused(source(once(() => claimElsewhere(1))), 1)
      expect(taken.map((each) => each.iccid)).toEqual([iccid(2)])
      expect(names().sort()).toEqual([unused(3), unused(4), used(1), used(2)])
    })

    test('a panel: the next profile is taken instead', async () => {
      const { taken } = await takeNextUnused(source(once(() => claimElsewhere(2))), 3)
      expect(taken.map((each) => each.iccid)).toEqual([iccid(1), iccid(3), iccid(4)])
    })

    test('a panel: a profile that was added in the meantime is taken instead', async () => {
      const meanwhile = once(() => {
        claimElsewhere(2)
        diskSync.writeFileSync(path(unused(5)), storedFile(plainProfile(5), publicKey))
      })
      const { taken } = await takeNextUnused(source(meanwhile), 4)
      expect(taken.map((each) => each.iccid)).toEqual([1, 3, 4, 5].map((n) => iccid(n)))
    })

    test('a panel that is then too small: the other claims are undone', async () => {
      const taking = takeNextUnused(source(once(() => claimElsewhere(2))), 4)
      await expect(taking.catch(adviceOn)).resolves.toMatchObject({
        outcome: 'no-profiles',
        message: `at most 3 of 4 requested profiles are available in ${directory}`,
      })
      expect(names().sort()).toEqual([back(1), back(3), back(4), used(1), used(2), used(3), used(4)])
      expect((await takeNextUnused(source(), 3)).taken.map((each) => each.iccid)).toEqual([
        iccid(1),
        iccid(3),
        iccid(4),
      ])
    })

    test.each([
      ['without a journal', {}],
      ['with one', { journal: true }],
      ['on FAT', { fat: true }],
    ])('whatever a power cut keeps, each of them is still a profile: %s', async (_, kind) => {
      for (const share of [0, 0.2, 0.4, 0.5, 0.6, 0.8, 0.9]) {
        begin(kind)
        await expect(takeNextUnused(source(once(() => claimElsewhere(2))), 4)).rejects.toThrow()
        cutPower(chooser([share]))
        for (const n of [1, 3, 4]) {
          const texts = [unused(n), used(n), back(n)].filter((name) => names().includes(name)).map(read)
          expect(texts.map((text) => text && JSON.parse(text).iccid)).toContain(iccid(n))
        }
      }
    })
  })

  test('a claim on FAT is whole when another call flushes its names and the power fails', async () => {
    begin({ fat: true })
    const before = JSON.parse(read(unused(1)))
    await takeNextUnused(source(), 1)
    flushDirectorySync(directory)
    cutPower(() => 0)
    expect(names()).not.toContain(unused(1))
    expect(JSON.parse(read(used(1)))).toMatchObject(before)
  })

  test('a panel whose second claim can’t be completed: all are named, and no other one is touched', async () => {
    disk.refuses = path(used(2))
    await expect(takeNextUnused(source(), 3)).rejects.toMatchObject({
      taken: [1, 2, 3].map((n) => ({ iccid: iccid(n) })),
      cause: { facts: { kind: 'not-claimed' }, message: expect.stringContaining(unused(2)) },
    })
    expect(names().sort()).toEqual([unused(4), used(1), used(3)])
  })

  test('a panel that is too small, and one of its claims can’t come back: that one is named', async () => {
    disk.refuses = path(back(3))
    const taking = takeNextUnused(source(once(() => claimElsewhere(2))), 4)
    await expect(taking).rejects.toMatchObject({
      taken: [{ iccid: iccid(3) }],
      cause: { facts: { kind: 'too-few' } },
    })
    expect(names().sort()).toEqual([back(1), back(4), ...[1, 2, 3, 4].map(used)])
  })

  test.each([
    ['the only one', 'disk'],
    ['not the only one', 'unusable'],
  ])('another program has a profile open, which is %s that can’t be used', async (which, outcome) => {
    const others = [2, 3, 4].map(unused)
    for (const each of others) {
      if (which === 'the only one') diskSync.unlinkSync(path(each))
      else diskSync.writeFileSync(path(each), '{}')
    }
    Object.assign(disk, { refuses: path(`.claims/${iccid(1)}`), reason: 'EBUSY' })
    await expect(takeNextUnused(source(), 1).catch(adviceOn)).resolves.toMatchObject({ outcome })
    expect(names()).toContain(unused(1))
  })

  test('a call that stops before its claim leaves everything unused', async () => {
    await expect(takeNextUnused(source(stop), 2)).rejects.toThrow('stopped')
    await expect(takeByIccid(source(stop), iccid(1))).rejects.toThrow('stopped')
    expect(names().sort()).toEqual([1, 2, 3, 4].map(unused))
  })

  test.each([
    ['a panel', (from: Source) => takeNextUnused(from, 2)],
    ['two devices', (from: Source) => takeForDevices(from, ['A', 'B'])],
  ])('%s: what it was about to claim when it stopped is next in line', async (_, taking) => {
    // From now on there is a hint, and nobody reads the directory.
    await takeNextUnused(source(), 1)
    await expect(taking(source(stop))).rejects.toThrow('stopped')
    expect((await takeNextUnused(source(), 1)).taken.map((each) => each.iccid)).toEqual([iccid(2)])
  })
})
