/** Which profiles a call gets, beside other calls that claim the same ones, or were killed while they did. */
import { createHash } from 'node:crypto'
import { mkdirSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import { adviceOn } from '../../src/advice/advice.ts'
import type { Source } from '../../src/next/ready.ts'
import { take } from '../../src/next/take.ts'
import { usedText } from '../../src/store/claim.ts'
import { recordAll } from '../../src/store/devices.ts'
import { deviceIn } from '../../src/store/profile-file.ts'
import { FreeList } from '../../src/store/queue.ts'
import { addProfile } from '../support/directory.ts'
import { iccid, plainProfile } from '../support/profiles.ts'
import { fail, once } from '../support/watched-fs.ts'
import {
  decide,
  directory,
  iccidsOf,
  names,
  path,
  read,
  said,
  source,
  textFor,
  unused,
  used,
  write,
} from './lot.ts'

/** Nobody else is there to wait for. */
vi.mock('../../src/pause.ts', () => ({ pause() {} }))
vi.mock('node:fs', async () => (await import('../support/watched-fs.ts')).watchedFs)

const iccids = (...numbers: number[]) => numbers.map((n) => iccid(n))
const back = (n: number) => unused(n, 2)

/** As another tool does it that shares the directory. */
const claimElsewhere = (n: number) => renameSync(path(unused(n)), path(used(n)))

describe('any profiles', () => {
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

  test('a panel, of which another call claims one: a profile that was added in the meantime is taken instead', async () => {
    const meanwhile = once(() => {
      claimElsewhere(2)
      addProfile(directory, plainProfile(5))
    })
    expect(await iccidsOf(take(source(meanwhile), { count: 4 }))).toEqual(iccids(1, 3, 4, 5))
  })

  test('a panel, a signal after its first claims, and another call: it takes what is missing', async () => {
    const stop = new AbortController()
    const hold = once(() => {
      claimElsewhere(2)
      write(unused(4), '{}')
      addProfile(directory, plainProfile(5))
      stop.abort()
    })
    const call = source(hold, { signals: { stop: stop.signal, beforeClaim: hold } })
    expect(await iccidsOf(take(call, { count: 3 }))).toEqual(iccids(1, 3, 5))
  })

  test('a panel that is too small, and one of its claims can’t come back: that one is named', async () => {
    fail(/^(open wx|rename)$/, back(3))
    const taking = take(source(once(() => claimElsewhere(2))), { count: 4 })
    const cause = { facts: { kind: 'too-few' } }
    await expect(taking).rejects.toMatchObject({ taken: [{ iccid: iccid(3), isUnsure: true }], cause })
    expect(names()).toEqual([back(1), back(4), ...[1, 2, 3, 4].map((n) => used(n))])
  })

  test('a panel that is too small, and somebody has claimed one of it anew: that one is not named', async () => {
    const meanwhile = once(() => {
      claimElsewhere(2)
      writeFileSync(path(used(1, 2)), '{}')
    })
    await expect(take(source(meanwhile), { count: 4 })).rejects.toMatchObject({ facts: { kind: 'too-few' } })
    expect(names()).toEqual([back(3), back(4), used(1, 2), ...[1, 2, 3, 4].map((n) => used(n))])
  })

  const WHICH = { 'the only one': 'disk', 'not the only one': 'unusable' }

  test.each(Object.entries(WHICH))(
    'another program has a profile open, %s that can’t be used',
    async (which, outcome) => {
      const others = [2, 3, 4].map((n) => unused(n))
      for (const each of others) {
        if (which === 'the only one') unlinkSync(path(each))
        else writeFileSync(path(each), '{}')
      }
      fail(/^rename$/, iccid(1), 'EBUSY')
      await expect(take(source(), { count: 1 }).catch(adviceOn)).resolves.toMatchObject({ outcome })
      expect(names()).toContain(unused(1))
    },
  )

  test.each([
    ['a panel', (from: Source) => take(from, { count: 2 })],
    ['two devices', (from: Source) => take(from, { count: 2, devices: ['A', 'B'] })],
  ])('%s: what it was about to claim when it stopped is next in line', async (_, taking) => {
    // From now on there is a hint, and nobody reads the directory.
    await take(source(), { count: 1 })
    await expect(taking(source(stop))).rejects.toThrow('stopped')
    expect(await iccidsOf(take(source(), { count: 1 }))).toEqual(iccids(2))
  })
})

describe('for devices', () => {
  /** The devices that have a profile; '' for a used one that none has. */
  const owners = () =>
    names()
      .filter((name) => name.startsWith('__'))
      .map((name) => deviceIn(read(name)) ?? '')
      .sort()

  const handOut = (...devices: string[]) => iccidsOf(take(source(), { count: devices.length, devices }))

  test('what a device has been assigned and another call takes is replaced', async () => {
    const stored = read(unused(1))
    await handOut('A')
    const first = read(used(1))
    // Another tool takes it over.
    write(used(1), stored)
    expect(await handOut('A')).toEqual(iccids(2))
    expect(await handOut('A')).toEqual(iccids(2))
    expect(owners()).toEqual(['', 'A'])
    // The used file is put back from a backup. The device has the later profile.
    write(used(1), first)
    expect(await handOut('A')).toEqual(iccids(2))
    const taking = take(source(), { count: 1, iccid: iccid(1), devices: ['B'] })
    await expect(taking).rejects.toThrow(`device A has ${iccid(1)}`)
  })

  test('its profile goes to another call, and the last one was reserved by a call that was killed', async () => {
    for (const device of 'AB') await handOut(device)
    const rival = source(() => {
      if (!names().includes(unused(3))) return
      claimElsewhere(3)
      FreeList.open(directory)?.reserve(1)
    })
    FreeList.drop(directory)
    expect(await iccidsOf(take(rival, { count: 1, devices: ['D'] }))).toEqual(iccids(4))
    expect(owners()).toEqual(['', 'A', 'B', 'D'])
  })

  test('another call is first for one of the devices, with what another one was to get: that one gets what is left', async () => {
    const rival = source(() => {
      const text = textFor('A', 2)
      mkdirSync(path('.devices'))
      write(`.devices/${createHash('sha256').update('a').digest('hex')}.1`, text)
      claimElsewhere(2)
      write(used(2), text)
    })
    expect(await iccidsOf(take(rival, { count: 4, devices: [...'ABCD'] }))).toEqual(iccids(2, 1, 3, 4))
  })

  test('with --new, another call finishes what this one has recorded: that is its own', async () => {
    const record = `.devices/${createHash('sha256').update('d').digest('hex')}.1`
    once('before', 'look', used(1), () => write(used(1), read(record)))
    const taking = take(source(), { count: 1, devices: ['D'], isNew: true })
    expect(await iccidsOf(taking)).toEqual(iccids(1))
  })

  test('too many: how many profiles there are is said', async () => {
    const taking = take(source(), { count: 5, devices: [...'ABCDE'] })
    await expect(taking).rejects.toThrow('at most 4 of 5 requested profiles are available')
  })

  test('one had its profile before: if nothing is claimed for the others, nothing is named', async () => {
    await handOut('A')
    fail(/^rename$/, iccid(2))
    await expect(handOut('A', 'B')).rejects.toMatchObject({ facts: { kind: 'not-claimed' } })
  })
})

describe('one by its ICCID', () => {
  /** @param beforeClaim what happens right before the claim */
  async function takeFirst(beforeClaim?: () => void) {
    const { taken } = await take(source(beforeClaim), { count: 1, iccid: iccid(1) })
    return taken[0]
  }

  test.each([
    [undefined, `${iccid(1)} was handed out before: use it only for the same device`],
    ['D', `${iccid(1)} was handed out before: use it only for device D`],
  ])('what a killed call has decided is finished, and is used: for %s', async (device, says) => {
    decide(iccid(1), textFor(device, 1))
    expect(await takeFirst()).toMatchObject({ isAgain: true, ...(device && { device }) })
    expect([said, names()]).toEqual([[says], [unused(2), unused(3), unused(4), used(1)]])
  })

  test('another call claims it right before this one, and prints it: this one does not', async () => {
    const meanwhile = () => decide(iccid(1), textFor('D', 1))
    await expect(takeFirst(meanwhile)).rejects.toThrow(`another call has claimed ${iccid(1)}`)
    expect(await takeFirst()).toMatchObject({ isAgain: true, device: 'D' })
  })

  test('another call claims anew what is set aside, right before this one: this one does not print it', async () => {
    const stored = read(unused(1))
    write(used(1), '')
    const meanwhile = () => decide(`${iccid(1)}.2`, usedText({ name: unused(1, 2), stored }, undefined))
    await expect(takeFirst(meanwhile)).rejects.toThrow(`another call has claimed ${iccid(1)}`)
    expect(await takeFirst()).toMatchObject({ isAgain: true })
  })

  test('a torn used file does not say whose it is: one that is recorded for a device goes to no other one', async () => {
    await recordAll(directory, [{ text: textFor('E', 1), records: 0 }])
    write(used(1), '')
    const taking = take(source(), { count: 1, iccid: iccid(1), devices: ['D'] })
    await expect(taking).rejects.toMatchObject({ facts: { kind: 'others-profile' } })
  })

  test('another tool takes the unused file of what was set aside and is claimed anew: nothing is named', async () => {
    write(used(1), '')
    once('before', 'unlink', unused(1), () => claimElsewhere(1))
    await expect(takeFirst()).rejects.toThrow(`another call has claimed ${iccid(1)}`)
  })

  test('the used file is a directory', async () => {
    mkdirSync(path(used(1)))
    await expect(takeFirst().catch(adviceOn)).resolves.toMatchObject({
      outcome: 'unusable',
      message: `${iccid(1)} can't be handed out: it is not a regular file`,
    })
  })

  test('the used file is torn, and no other one is there', async () => {
    write(used(1), '')
    rmSync(path(unused(1)))
    const says = `${unused(1)} can't be handed out: its used file is not complete`
    await expect(takeFirst()).rejects.toThrow(says)
  })

  test.each([
    ['EIO', /^check the disk, then run the same command again$/],
    ['EACCES', /^give this user permission .*, then run the same command again$/],
  ])('nobody can tell whether the profile is used: %s', async (code, hint) => {
    fail(/^look$/, '', code)
    await expect(takeFirst().catch(adviceOn)).resolves.toMatchObject({
      outcome: 'disk',
      message: expect.stringContaining(`can't claim ${iccid(1)}: `),
      hint: expect.stringMatching(hint),
    })
  })

  test.each(['EBUSY', 'EACCES'])('the unused file can’t be claimed: %s', async (code) => {
    fail(/^rename$/, iccid(1), code)
    await expect(takeFirst().catch(adviceOn)).resolves.toMatchObject({
      outcome: 'disk',
      message: expect.stringContaining(`can't be claimed; ${unused(1)}: it can't be marked as used: `),
    })
    expect(names()).toContain(unused(1))
  })
})
