import { createHash, createPrivateKey } from 'node:crypto'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, inject, test, vi } from 'vitest'
import { Report } from '../../../src/cli/report.ts'
import type { Source } from '../../../src/next/ready.ts'
import { takeForDevices } from '../../../src/next/take/for-devices.ts'
import { takeNextUnused } from '../../../src/next/take/next-unused.ts'
import { begin as beginClaim } from '../../../src/store/claim/claim.ts'
import { deviceIn } from '../../../src/store/claim/use.ts'
import { createFrom, removeDraft, textFor, writeDraft } from '../../../src/store/devices/draft.ts'
import { completeFor, noteBegun, record } from '../../../src/store/devices/record.ts'
import { flushDirectorySync } from '../../../src/store/flush/directory.ts'
import { flushPath } from '../../../src/store/flush/files.ts'
import { Hint } from '../../../src/store/hint.ts'
import { settledName, usedName } from '../../../src/store/names.ts'
import { bury, cutPower, format, fs, image, live, load, ROOT, saved, watched } from '../../store/disk.ts'
import { iccid, plainProfile, storedFile } from '../../support/profiles.ts'

/** Nobody else is there to wait for. */
vi.mock('../../../src/pause.ts', () => ({ pause() {} }))

vi.mock('node:fs', async () => {
  const { diskSync } = await import('../../store/disk-fs.ts')
  return { ...diskSync, default: diskSync }
})

const { diskSync } = await import('../../store/disk-fs.ts')
const { privateKey, publicKey } = inject('keys')
const key = { object: createPrivateKey(privateKey), inFile: 1 }
const stored = new Map([1, 2, 3, 4].map((n) => [n, storedFile(plainProfile(n), publicKey)]))

const directory = join(ROOT, 'profiles')
const unused = (n: number) => `${iccid(n)}.json`
const used = (n: number) => `__${unused(n)}`
const path = (name: string) => join(directory, name)
const read = (name: string) => String(fs.readFileSync(path(name)))
const names = () => fs.readdirSync(directory).map(String)
const usedNames = () => names().filter((name) => name.startsWith('__'))

/** @param beforeClaim what happens when the profiles are ready and nothing is claimed yet */
function source(beforeClaim: () => void = () => {}): Source {
  const options = { smsp: false, smsc: true, crc: false }
  const signals = { stop: new AbortController().signal, hold: beforeClaim }
  return { directory, key, options, format: 'raw', messages: new Report(() => {}), signals }
}

/** As `next --device` does, up to the moment when it prints. */
async function handOut(...devices: string[]): Promise<string[]> {
  const { taken } = await takeForDevices(source(), devices)
  for (const { name } of taken) await flushPath(path(usedName(name)))
  flushDirectorySync(directory)
  return taken.map(({ line }) => JSON.parse(line).iccid)
}

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

/** Makes it so that a call was cut off before it could claim its profile, and that another call took that one. */
function giveAway(n: number): void {
  diskSync.unlinkSync(path(used(n)))
  diskSync.writeFileSync(path(used(n)), stored.get(n) ?? '')
  flush(path(used(n)))
}

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
  for (const [n, text] of stored) {
    diskSync.writeFileSync(path(unused(n)), text)
    flush(path(unused(n)))
  }
  flush(directory)
  flush(ROOT)
}

/**
 * The devices that have a profile, each as often as it has one; '' for a profile that no device has. A crash can leave
 * one used file beside its unused one, which no call prints: it is set aside.
 */
const owners = () =>
  usedNames()
    .filter((name) => !names().includes(name.slice(2)))
    .map((name) => deviceIn(read(name)) ?? '')

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

  /** What happened before, and what the call that crashes is for. */
  const STORIES: [string, () => Promise<unknown>, string[]][] = [
    ['the first call', async () => {}, ['A']],
    ['a panel', async () => {}, ['A', 'B', 'C']],
    ['a panel in which some have theirs', () => handOut('B'), ['A', 'B', 'C']],
    ['the same once more', () => handOut('A'), ['A']],
    [
      'a device whose profile went to another one',
      async () => {
        await handOut('A')
        giveAway(1)
      },
      ['A'],
    ],
  ]

  /** The process is killed, or the power is cut and that share of what is not flushed stays. */
  const ENDS = [undefined, 0, 0.5, 1]

  /**
   * Ends a call before each of its steps, in each way. From each disk that this leaves, asks once more for every device,
   * and then looks at the disk.
   */
  async function crashAnywhere(
    disk: object,
    [, before, devices]: (typeof STORIES)[number],
    look: (plain: number) => void,
  ) {
    begin(disk)
    await before()
    const plain = owners().filter((owner) => owner === '').length
    flush(directory)
    const wrecks: ReturnType<typeof saved>[] = []
    live()
    const printed = await watched(
      () => void wrecks.push(saved()),
      () => handOut(...devices),
    )
    bury()
    const whole = saved()
    const seen = new Set<string>()
    for (const [step, wreck] of [...wrecks, whole].entries()) {
      for (const share of ENDS) {
        load(wreck)
        if (share !== undefined) cutPower((length) => Math.round(length * share))
        const has = wreck === whole ? printed : undefined
        if (seen.size === seen.add(`${has} ${image()}`).size) continue
        live()
        const again = []
        for (const device of devices) again.push(...(await handOut(device)))
        const when = `crash at step ${step}, of what was not flushed stays ${share}`
        expect(new Set(again).size, when).toBe(devices.length)
        if (has !== undefined) expect(again, when).toEqual(has)
        for (const device of devices)
          expect(
            owners().filter((owner) => owner === device),
            when,
          ).toHaveLength(1)
        look(plain)
        bury()
      }
    }
  }

  // A crash right after the used name is created leaves it empty: the profile counts as used and is not lost.
  test.each(STORIES)('after a crash anywhere in %s, each device gets exactly one', async (...story) => {
    await crashAnywhere({}, story, (plain) => {
      const aside = names().filter((name) => names().includes(`__${name}`))
      expect(aside.length).toBeLessThanOrEqual(1)
      expect(owners().filter((owner) => owner === '')).toHaveLength(plain)
    })
  })

  // There, a crash may leave a used name without a device: the profile counts as used and is not lost.
  test.each(STORIES.filter(([name]) => name !== 'a panel'))(
    'after a crash anywhere in %s on FAT, each device gets exactly one',
    async (...story) => {
      await crashAnywhere({ fat: true }, story, (plain) => {
        expect(owners().filter((owner) => owner === '').length - plain).toBeOneOf([0, 1])
        for (const [n, text] of stored) {
          const texts = [unused(n), used(n)].filter((name) => names().includes(name)).map(read)
          expect(texts.some((each) => each.includes(JSON.parse(text).profile))).toBe(true)
        }
      })
    },
  )
})
