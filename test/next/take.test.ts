import { createPrivateKey } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, inject, test } from 'vitest'
import { Failure } from '../../src/failure.ts'
import { type HandedOut, handOut, type Order } from '../../src/next/next.ts'
import { begin } from '../../src/store/claims.ts'
import { recordOf } from '../../src/store/devices.ts'
import { addProfile, directoryOf, namesIn, someProfiles, unusedIn, usedIn } from '../support/directory.ts'
import { BY, fieldsIn, X } from '../support/lot.ts'
import { iccid, plainProfile, storedFile } from '../support/profiles.ts'

const key = { object: createPrivateKey(inject('keys').privateKey), name: 'the key' }
const otherKey = { object: createPrivateKey(inject('otherKeys').privateKey), name: 'the key' }

const TAG = '0123456789abcdef0123'
const MOVE = `${TAG}.${TAG}+${TAG}`

let directory = ''
let said: string[] = []
beforeEach(() => {
  directory = directoryOf(someProfiles(4))
  said = []
})

/** A call, and what it prints. */
async function next(changes: Partial<Order> = {}, print = async (_: readonly HandedOut[]) => {}) {
  let printed: readonly HandedOut[] = []
  const order: Order = {
    ...{ directory, key, format: 'raw', options: { smsp: false, smsc: true, crc: true } },
    count: changes.devices?.length ?? 1,
    messages: { warn: (text) => void said.push(text), tell() {} },
    stop: new AbortController().signal,
    hold() {},
    ...changes,
  }
  await handOut(order, async (all) => {
    await print(all)
    printed = all
  })
  return printed.map(({ iccid: digits, line }) => {
    const { iccid: own, profile } = JSON.parse(line)
    expect(own ?? profile.iccid).toBe(digits)
    return digits
  })
}

const numbers = (...all: number[]) => all.map((n) => iccid(n))

describe('any profiles', () => {
  test('are the lowest ones, used and printed, and nothing else is left', async () => {
    expect(await next()).toEqual(numbers(1))
    expect(await next({ count: 2 })).toEqual(numbers(2, 3))
    expect(readdirSync(directory).filter((name) => name.includes('~'))).toEqual([])
    expect(namesIn(directory)).toEqual([...[1, 2, 3].map((n) => `__${X(n)}`), X(4)].sort())
  })

  test('are said to be handed out, to whom, and where they are now, if somebody wants to know each step', async () => {
    const told: [number, string][] = []
    const messages = { warn() {}, tell: (level: number, text: string) => void told.push([level, text]) }
    await next({ messages })
    // Short, whatever the user has typed.
    await next({ messages, devices: ['D'], directory: `${directory}/.` })
    expect(told).toEqual([
      [2, `opening ${X(1)}`],
      [1, `handed out ${iccid(1)}, now ${join(directory, `__${X(1)}`)}`],
      [2, `opening ${X(2)}`],
      [1, `handed out ${iccid(2)} to device D, now ${join(directory, `__${X(2)}`)}`],
    ])
  })

  test('come also from a directory that has lost the records of devices, and none for a device', async () => {
    await next({ devices: ['D'] })
    rmSync(join(directory, '.devices'), { recursive: true })
    expect(await next()).toEqual(numbers(2))
    await expect(next({ devices: ['E'] })).rejects.toMatchObject({ outcome: 'copy' })
  })

  test('are printed also if what has held them can not be removed', async () => {
    const replace = async () => {
      const held = readdirSync(directory).find((name) => name.startsWith(`.${X(1)}~`)) ?? ''
      rmSync(join(directory, held))
      mkdirSync(join(directory, held))
    }
    expect(await next({}, replace)).toEqual(numbers(1))
  })

  test('are too few: what killed calls have left goes, and may be why', async () => {
    const guard = join(directory, '.claims', iccid(9))
    mkdirSync(guard, { recursive: true })
    utimesSync(guard, 1, 1)
    await expect(next({ count: 5 })).rejects.toMatchObject({ outcome: 'no-profiles' })
    expect(existsSync(guard)).toBe(false)
  })

  test('are printed, and what killed calls have left goes then, too', async () => {
    const guard = join(directory, '.claims', iccid(9))
    mkdirSync(guard, { recursive: true })
    utimesSync(guard, 1, 1)
    expect(await next()).toEqual(numbers(1))
    expect(existsSync(guard)).toBe(false)
  })

  test('that others void again and again are taken in the end', async () => {
    let rounds = 0
    const hold = () => {
      if (++rounds > 3) return
      const held = readdirSync(directory).find((name) => name.startsWith('.8988')) ?? ''
      mkdirSync(join(directory, `.!${held.split('~')[1]}`))
    }
    expect(await next({ hold })).toEqual(numbers(4))
  })

  test('of a call that comes short and goes on are all its own: nothing is said of those that it has used', async () => {
    directory = directoryOf(someProfiles(2))
    let rounds = 0
    const hold = () => {
      const held = readdirSync(directory).find((name) => name.startsWith(`.${X(2)}~`)) ?? ''
      if (++rounds === 1) mkdirSync(join(directory, `.!${held.split('~')[1]}`))
    }
    expect(await next({ count: 2, hold })).toEqual(numbers(1, 2))
    expect([said, rounds, readdirSync(directory).filter((name) => name.includes('~'))]).toEqual([[], 2, []])
  })

  test('are all or none', async () => {
    await expect(next({ count: 5 })).rejects.toMatchObject({
      outcome: 'no-profiles',
      message: expect.stringMatching(/at most 4 of 5/),
    })
    expect(unusedIn(directory)).toHaveLength(4)
    // What a move holds does not come back.
    renameSync(join(directory, X(4)), join(directory, `.${X(4)}~${MOVE}`))
    await expect(next({ count: 4 })).rejects.toThrow(/at most 3 of 4/)
    renameSync(join(directory, `.${X(4)}~${MOVE}`), join(directory, X(4)))
    expect(await next({ count: 4 })).toHaveLength(4)
    await expect(next()).rejects.toMatchObject({ hint: expect.stringMatching(/if all are used, fetch more/) })
  })

  test('leave out what is damaged, does not decrypt or would be rejected, and name it', async () => {
    writeFileSync(join(directory, X(1)), '{')
    addProfile(directory, plainProfile(2), { imsi: 'x' })
    expect(await next({ count: 2 })).toEqual(numbers(3, 4))
    expect(unusedIn(directory)).toEqual([X(1), X(2)])
    expect(said).toEqual([expect.stringContaining(X(1)), expect.stringContaining(X(2))])
    await expect(next()).rejects.toMatchObject({ outcome: 'unusable' })
    // One that can't be read now may be good: the disk is to be looked at first.
    symlinkSync(X(9), join(directory, X(9)))
    await expect(next()).rejects.toMatchObject({
      ...{ outcome: 'disk', message: `none of the unused profiles in ${directory} can be used` },
      hint: 'see the warning for each file; nothing was claimed',
    })
  })

  test('that newer devices would reject are left out, and printed again, with a word of it, if a device has one', async () => {
    addProfile(directory, plainProfile(1), { pin: '1' })
    expect(await next()).toEqual(numbers(2))
    expect(said).toEqual([expect.stringContaining(`${X(1)} is skipped: newer devices would reject it`)])
    said = []
    renameSync(join(directory, X(1)), join(directory, `__${X(1)}`))
    expect(await next({ iccid: iccid(1) })).toEqual(numbers(1))
    expect(said).toEqual([
      `${iccid(1)} was handed out before: use it only for the same device`,
      `newer devices would reject ${iccid(1)}: the PIN has fewer than 4 characters; printed only because it was handed out before: if the device rejects it, put the device aside`,
    ])
  })

  test.each([
    [20, []],
    [21, ['1 more file skipped']],
  ])('leave out %i damaged ones, of which 20 are named', async (count, more) => {
    for (let n = 1; n <= count; n++) writeFileSync(join(directory, X(n)), '{')
    addProfile(directory, plainProfile(22))
    expect(await next()).toEqual(numbers(22))
    expect(said.slice(0, 20)).toEqual(said.filter((each) => each.includes('is skipped: ')))
    expect(said.slice(20)).toEqual(more)
  })

  test('of another key are none, after a few of them', async () => {
    const many = directoryOf(someProfiles(8))
    await expect(next({ directory: many, key: otherKey, count: 8 })).rejects.toMatchObject({ outcome: 'key' })
    expect(unusedIn(many)).toHaveLength(8)
    expect(namesIn(many)).toHaveLength(8)
    // One error says it of all of them.
    expect(said).toEqual([])
    const one = directoryOf(someProfiles(1))
    await expect(next({ directory: one, key: otherKey })).rejects.toMatchObject({ outcome: 'key' })
  })

  test('of another key are passed over and named, if they are but four', async () => {
    const { publicKey } = inject('otherKeys')
    for (const n of [1, 2, 3, 4]) writeFileSync(join(directory, X(n)), storedFile(plainProfile(n), publicKey))
    addProfile(directory, plainProfile(5))
    expect(await next()).toEqual(numbers(5))
    expect(said).toHaveLength(4)
  })

  test('of another key are passed over if the key has decrypted one, also one that is rejected', async () => {
    addProfile(directory, plainProfile(1), { imsi: 'x' })
    const { publicKey } = inject('otherKeys')
    for (const n of [2, 3, 4, 5, 6])
      writeFileSync(join(directory, X(n)), storedFile(plainProfile(n), publicKey))
    addProfile(directory, plainProfile(7))
    expect(await next()).toEqual(numbers(7))
  })

  test('of a killed call come back to whoever would go without', async () => {
    for (const n of [1, 2, 3, 4]) begin(directory, X(n), BY)
    expect(await next({ count: 4 })).toEqual(numbers(1, 2, 3, 4))
  })

  test('of an answer that a killed fetch has put aside are stored first', async () => {
    rmSync(directory, { recursive: true })
    mkdirSync(join(directory, '.incoming', 'abc'), { recursive: true })
    const { iccid: digits, profile } = (() => {
      const place = directoryOf(someProfiles(1))
      return fieldsIn(place, X(1))
    })()
    writeFileSync(
      join(directory, '.incoming', 'abc', 'answer'),
      `${JSON.stringify({ iccid: digits, profile })}\n`,
    )
    expect(await next()).toEqual(numbers(1))
  })

  test('are not claimed where no receipt can be written', async () => {
    await expect(next({ receipt: directory })).rejects.toMatchObject({ outcome: 'usage' })
    expect(unusedIn(directory)).toHaveLength(4)
  })

  test('without keys for changes over the air are named where the line for devices is printed', async () => {
    for (const n of [1, 2]) addProfile(directory, plainProfile(n), { kic: null })
    expect(await next({ format: 'json' })).toEqual(numbers(1))
    expect(await next()).toEqual(numbers(2))
    expect(said).toEqual([expect.stringMatching(/^\d+ has no KIC: /)])
  })

  test('in a directory that is not there, or has none, are told with what to do', async () => {
    await expect(next({ directory: '/nowhere' })).rejects.toMatchObject({ outcome: 'no-profiles' })
    await expect(next({ directory: directoryOf([]) })).rejects.toMatchObject({
      message: expect.stringMatching(/no unused profile/),
    })
  })

  test('are not claimed after a signal', async () => {
    await expect(next({ stop: AbortSignal.abort() })).rejects.toMatchObject({ outcome: 'interrupted' })
    expect(unusedIn(directory)).toHaveLength(4)
  })
})

describe('a signal', () => {
  test('between the hold and the decision ends the call, and everything comes back', async () => {
    const stop = new AbortController()
    const messages = { warn() {}, tell: () => stop.abort() }
    await expect(next({ stop: stop.signal, messages })).rejects.toMatchObject({ outcome: 'interrupted' })
    expect(unusedIn(directory)).toHaveLength(4)
  })

  test('ends no call before everything has come back', async () => {
    const stop = new AbortController()
    const messages = { warn() {}, tell: () => stop.abort() }
    directory = directoryOf(someProfiles(20))
    const unused = next({ count: 20, stop: stop.signal, messages }).catch(() => unusedIn(directory))
    expect(await unused).toHaveLength(20)
  })

  test('does not end a call that has used some: it takes all of them', async () => {
    const stop = new AbortController()
    const hold = () => {
      stop.abort()
      // Another call voids the second claim.
      const held = readdirSync(directory).find((name) => name.startsWith(`.${X(2)}~`))
      if (held !== undefined) mkdirSync(join(directory, `.!${held.split('~')[1]}`))
    }
    expect(await next({ count: 2, stop: stop.signal, hold })).toEqual(numbers(1, 3))
    expect(unusedIn(directory)).toEqual([X(2), X(4)])
  })
})

describe('the profile of a device', () => {
  test('is the same one at each call, whatever is asked for beside it', async () => {
    expect(await next({ devices: ['D'] })).toEqual(numbers(1))
    expect(await next({ devices: ['E', 'D'] })).toEqual(numbers(2, 1))
    expect(said).toEqual([`device D already has ${iccid(1)}: it gets the same profile again`])
    expect(usedIn(directory)).toHaveLength(2)
  })

  test('is refused with --new, and for another spelling of its serial number', async () => {
    await next({ devices: ['SN-1'] })
    await expect(next({ devices: ['SN-1'], isNew: true })).rejects.toMatchObject({
      ...{ outcome: 'has-profile', message: `device SN-1 already has ${iccid(1)}` },
      hint: 'scan the device again; if it is the right one, leave out --new and --iccid: the same profile is printed again; nothing was claimed',
    })
    await expect(next({ devices: ['sn-01'] })).rejects.toMatchObject({
      outcome: 'usage',
      message: expect.stringMatching(/SN-1 .* sn-01/),
    })
    expect(await next({ devices: ['sn-01'], isNew: true })).toEqual(numbers(2))
    expect(said).toEqual(['device sn-01 is taken for another one than SN-1'])
    expect(await next({ devices: ['sn-01'] })).toEqual(numbers(2))
  })

  test('is refused with --new also if another call is first, and what the others have is named', async () => {
    await next({ devices: ['E'] })
    const [place = ''] = readdirSync(join(directory, '.devices')).map((name) =>
      join(directory, '.devices', name),
    )
    const away = `${directory}-record`
    renameSync(place, away)
    const hold = () => renameSync(away, place)
    await expect(next({ devices: ['D', 'E'], isNew: true, hold })).rejects.toMatchObject({
      outcome: 'has-profile',
      message: expect.stringContaining(`used, but not printed: ${iccid(2)} `),
    })
  })

  test('is one also if another call voids the claim of one of them', async () => {
    await next({ devices: ['A'] })
    said = []
    let rounds = 0
    const hold = () => {
      const held = readdirSync(directory).find((name) => name.startsWith(`.${X(2)}~`)) ?? ''
      if (++rounds === 1) mkdirSync(join(directory, `.!${held.split('~')[1]}`))
    }
    expect(await next({ devices: ['A', 'B', 'C'], hold })).toEqual(numbers(1, 4, 3))
    expect([recordOf(directory, 'B')?.iccid, recordOf(directory, 'C')?.iccid]).toEqual(numbers(4, 3))
    expect(said).toHaveLength(1)
    expect(unusedIn(directory)).toEqual([X(2)])
  })

  test.each([
    ['D', 'D', numbers(1)],
    ['SN-1', 'sn-01', 'may be the same device'],
  ])('is that of a call that was first: %s, %s', async (first, second, result) => {
    await next({ devices: [first] })
    const [name = ''] = readdirSync(join(directory, '.devices'))
    const [place, away] = [join(directory, '.devices', name), `${directory}-record`]
    renameSync(place, away)
    const hold = () => renameSync(away, place)
    const outcome = next({ devices: [second], hold }).catch((error) => error.message)
    expect(await outcome).toEqual(typeof result === 'string' ? expect.stringContaining(result) : result)
    expect(unusedIn(directory)).toHaveLength(3)
  })

  test('is one also if the first of two has a profile that is rejected', async () => {
    addProfile(directory, plainProfile(1), { imsi: 'x' })
    const printed = await next({ devices: ['A', 'B'] })
    expect(printed.toSorted()).toEqual(numbers(2, 3))
    expect(['A', 'B'].map((device) => recordOf(directory, device)?.iccid)).toEqual(printed)
  })

  test('is recorded also if others are skipped before it is found', async () => {
    addProfile(directory, plainProfile(1), { imsi: 'x' })
    expect(await next({ devices: ['D'] })).toEqual(numbers(2))
    expect(recordOf(directory, 'D')?.iccid).toBe(iccid(2))
  })

  test('that is recorded and unused is claimed for that device', async () => {
    await next({ devices: ['D'] })
    addProfile(directory, plainProfile(1))
    rmSync(join(directory, `__${X(1)}`))
    expect(await next({ devices: ['D'] })).toEqual(numbers(1))
    expect(fieldsIn(directory, `__${X(1)}`)).toMatchObject({ device: 'D' })
  })

  test('that is gone, or that another one has, is none', async () => {
    await next({ devices: ['D'] })
    rmSync(join(directory, `__${X(1)}`))
    await expect(next({ devices: ['D'] })).rejects.toMatchObject({
      outcome: 'unusable',
      message: expect.stringMatching(/gone/),
    })
    addProfile(directory, plainProfile(1))
    renameSync(join(directory, X(1)), join(directory, `__${X(1)}`))
    await expect(next({ devices: ['D'] })).rejects.toMatchObject({
      message: `device D can't have ${iccid(1)}: it was handed out without a device`,
    })
  })

  test('is named if another call has decided the claim of one that fails', async () => {
    const hold = () => {
      const draft = readdirSync(directory).find((name) => name.startsWith('.~')) ?? ''
      renameSync(join(directory, draft), join(directory, draft.replace('~', '!')))
      throw new Error('no more')
    }
    await expect(next({ devices: ['D'], hold })).rejects.toThrow(`used, but not printed: ${iccid(1)} `)
    expect(recordOf(directory, 'D')?.iccid).toBe(iccid(1))
  })

  test('leaves nothing of the call that was killed before its print', async () => {
    await expect(next({ devices: ['D'] }, () => Promise.reject(new Error('killed')))).rejects.toThrow()
    expect(readdirSync(directory).filter((name) => name.startsWith(`.${X(1)}~`))).toHaveLength(1)
    expect(await next({ devices: ['D'] })).toEqual(numbers(1))
    expect(readdirSync(directory).filter((name) => name.startsWith(`.${X(1)}~`))).toHaveLength(0)
  })

  test('is not lost when its claim is killed before the decision', async () => {
    begin(directory, X(1), { ...BY, device: 'D' })
    expect(await next({ devices: ['D'] })).toEqual(numbers(2))
    expect(recordOf(directory, 'D')?.iccid).toBe(iccid(2))
  })
})

describe('the profile that the call names', () => {
  test('is claimed if it is unused, also for a device, and printed again if it is used', async () => {
    expect(await next({ iccid: iccid(3) })).toEqual(numbers(3))
    expect(await next({ iccid: iccid(3) })).toEqual(numbers(3))
    expect(said).toEqual([expect.stringContaining('only for the same device')])
    expect(await next({ iccid: iccid(2), devices: ['D'] })).toEqual(numbers(2))
    expect(recordOf(directory, 'D')?.iccid).toBe(iccid(2))
    expect(await next({ iccid: iccid(2), devices: ['D'] })).toEqual(numbers(2))
    // With --new, the device must not have it yet.
    expect(await next({ iccid: iccid(4), devices: ['E'], isNew: true })).toEqual(numbers(4))
    const again = next({ iccid: iccid(4), devices: ['E'], isNew: true })
    await expect(again).rejects.toMatchObject({ outcome: 'has-profile' })
  })

  test('is refused for a device that has another one, and for another device', async () => {
    await next({ devices: ['D'] })
    await expect(next({ devices: ['D'], iccid: iccid(2) })).rejects.toMatchObject({ outcome: 'has-profile' })
    await expect(next({ devices: ['E'], iccid: iccid(1) })).rejects.toMatchObject({
      ...{ outcome: 'unusable', message: `device E can't have ${iccid(1)}: device D has it` },
      hint: 'check the serial number and the ICCID; if two devices have it, put both aside; nothing was claimed',
    })
    expect(usedIn(directory)).toHaveLength(1)
  })

  test('is waited for if a killed call holds it, but not if a move does', async () => {
    begin(directory, X(1), BY)
    expect(await next({ iccid: iccid(1) })).toEqual(numbers(1))
    renameSync(join(directory, X(2)), join(directory, `.${X(2)}~${MOVE}`))
    await expect(next({ iccid: iccid(2) })).rejects.toMatchObject({
      message: expect.stringMatching(/in transit/),
    })
    renameSync(join(directory, X(3)), join(directory, `${X(3)}.aside`))
    await expect(next({ iccid: iccid(3) })).rejects.toMatchObject({
      ...{ outcome: 'no-profiles', message: `${iccid(3)} is put aside by softsim restore` },
      hint: 'check the ICCID and the directory; softsim status says where its profiles are',
    })
    await expect(next({ iccid: iccid(9) })).rejects.toMatchObject({
      message: expect.stringMatching(/ is not in /),
    })
  })

  test('is not printed if another call was first to take it: it may be for another device', async () => {
    const hold = () => {
      const held = readdirSync(directory).find((name) => name.startsWith(`.${X(1)}~`)) ?? ''
      const [, tag] = held.split('~')
      mkdirSync(join(directory, `.!${tag}`))
      rmSync(join(directory, `.~${tag}`))
      renameSync(join(directory, held), join(directory, `__${X(1)}`))
    }
    await expect(next({ iccid: iccid(1), hold })).rejects.toMatchObject({
      message: expect.stringMatching(/^another call/),
    })
  })

  test('that can not be read now is a failure of the disk, and no damage', async () => {
    rmSync(join(directory, X(1)))
    symlinkSync(X(1), join(directory, X(1)))
    await expect(next({ iccid: iccid(1) })).rejects.toMatchObject({ outcome: 'disk' })
  })

  test('that is damaged says why, and stays', async () => {
    writeFileSync(join(directory, X(1)), '{')
    await expect(next({ iccid: iccid(1) })).rejects.toMatchObject({
      ...{ outcome: 'unusable', message: expect.stringContaining(`${iccid(1)} can't be handed out: it `) },
      hint: 'check its rights, copy it from a backup, or ask the service provider; nothing was claimed',
    })
    await expect(next({ iccid: iccid(2), key: otherKey })).rejects.toMatchObject({ outcome: 'key' })
    expect(unusedIn(directory)).toHaveLength(4)
  })
})

describe('what can not be printed', () => {
  test('because its receipt can not be written, was not printed', async () => {
    const receipt = `${directory}-receipt`
    const hold = () => rmSync(receipt)
    await expect(next({ receipt, hold })).rejects.toMatchObject({
      outcome: 'disk',
      message: expect.stringMatching(/^used, but not printed: \d+ \(.*\): can't write the receipt /),
    })
    // One is named once.
    expect(said).toEqual([])
  })

  test('after a signal is interrupted; else it fails as what went wrong', async () => {
    const stop = new AbortController()
    const print = async () => {
      stop.abort()
      throw new Failure('key', 'x', 'y')
    }
    await expect(next({ stop: stop.signal }, print)).rejects.toMatchObject({ outcome: 'interrupted' })
    const failing = () => Promise.reject(new Failure('key', 'x', 'y'))
    await expect(next({}, failing)).rejects.toMatchObject({ outcome: 'key' })
  })

  test('is named, with what prints it again', async () => {
    const failing = async () => {
      throw Object.assign(new Error('x'), { code: 'EPIPE' })
    }
    await expect(next({ count: 2 }, failing)).rejects.toMatchObject({
      outcome: 'disk',
      message: expect.stringMatching(
        /and perhaps printed: 2 profiles, listed above: the reader closed the pipe/,
      ),
      hint: `if no device has it, softsim next -k KEY -i ${directory} --iccid ICCID prints it again; the same command takes others`,
    })
    expect(said).toEqual([
      `used, and perhaps printed: ${iccid(1)} (${join(directory, `__${X(1)}`)})`,
      `used, and perhaps printed: ${iccid(2)} (${join(directory, `__${X(2)}`)})`,
    ])
  })

  test('is named also if the call fails between the first profile and the second', async () => {
    const hold = () => void mkdirSync(join(directory, `__${X(2)}`))
    await expect(next({ count: 2, hold })).rejects.toMatchObject({
      outcome: 'disk',
      message: expect.stringContaining(`used, but not printed: ${iccid(1)} `),
    })
  })

  test('is named also if it was handed out before', async () => {
    await next({ iccid: iccid(1) })
    const failing = () => Promise.reject(new Error('x'))
    await expect(next({ iccid: iccid(1) }, failing)).rejects.toMatchObject({
      message: expect.stringContaining(`used, and perhaps printed: ${iccid(1)} `),
    })
  })

  test('leaves the mark that status and the next call read', async () => {
    const failing = () => Promise.reject(new Error('x'))
    const receipt = `${directory}-receipt`
    await expect(next({ devices: ['D'], receipt }, failing)).rejects.toMatchObject({
      hint: `run the same command again: each device gets the same profile; the receipt ${receipt} may have a line for each`,
    })
    await expect(next({ devices: ['E'], isNew: true }, failing)).rejects.toMatchObject({
      hint: expect.stringMatching(/run the same command again without --new:/),
    })
    expect(await next({ devices: ['D'] })).toEqual(numbers(1))
  })
})
