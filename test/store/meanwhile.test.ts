/** What others do while a call waits for them. */
import { createPrivateKey, hash } from 'node:crypto'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, inject, test, vi } from 'vitest'
import { type HandedOut, handOut, type Order } from '../../src/next/next.ts'
import { begin, giveBack, settle } from '../../src/store/claims.ts'
import { directoryOf, someProfiles, unusedIn } from '../support/directory.ts'
import { BY, lot, messages, names, put, X } from '../support/lot.ts'
import { iccid } from '../support/profiles.ts'

const { waits, times } = vi.hoisted(() => ({ waits: [] as (() => void)[], times: [] as number[] }))
vi.mock('../../src/pause.ts', () => ({
  pause: (ms: number) => {
    times.push(ms)
    waits.shift()?.()
  },
}))
beforeEach(() => {
  times.length = 0
})

test('what a call that lives uses and prints is neither voided nor named', async () => {
  const directory = lot(1)
  const { draft, decision, used, held } = begin(directory, X(1), BY)?.places ?? {}
  waits.push(() => {
    renameSync(draft ?? '', decision ?? '')
    renameSync(decision ?? '', used ?? '')
    rmSync(held ?? '')
  })
  const { said, ...sink } = messages()
  await settle(directory, sink)
  expect([names(directory), said]).toEqual([[`__${X(1)}`], []])
  // So long a call may need between two steps.
  expect(times).toEqual([1000])
})

test('what is given back waits for whoever guards its name', async () => {
  const directory = lot(1)
  const { platform } = process
  Object.defineProperty(process, 'platform', { value: 'darwin' })
  try {
    const claim = begin(directory, X(1), BY)
    const guard = join(directory, '.claims', iccid(1))
    mkdirSync(guard)
    waits.push(() => rmdirSync(guard))
    if (claim !== undefined) await giveBack(directory, claim)
  } finally {
    Object.defineProperty(process, 'platform', { value: platform })
  }
  expect([names(directory), waits.splice(0)]).toEqual([[X(1)], []])
})

const call = (directory: string, changes: Partial<Order>): Order => ({
  ...{ directory, key: { object: createPrivateKey(inject('keys').privateKey), name: 'the key' } },
  ...{ format: 'raw', options: { smsp: false, smsc: true, crc: true }, count: 1 },
  ...{ messages: messages(), stop: new AbortController().signal, hold() {} },
  ...changes,
})

test('what a call names is not printed if another one has taken it between two of its steps', async () => {
  const directory = lot(0)
  // A look finds it, and nothing can be read from it any more.
  symlinkSync('gone', join(directory, X(1)))
  waits.push(() => {
    rmSync(join(directory, X(1)))
    put(directory, 1, `__${X(1)}`, { claim: 'other' })
  })
  const printed = handOut(call(directory, { iccid: iccid(1) }), async () => {})
  await expect(printed).rejects.toThrow(/^another call/)
})

test('a call from which others take everything gives up after a second, and says so', async () => {
  const directory = directoryOf(someProfiles(25))
  let rounds = 0
  const hold = () => {
    rounds++
    const held = readdirSync(directory).find((name) => name.startsWith('.8988')) ?? ''
    mkdirSync(join(directory, `.!${held.split('~')[1]}`))
  }
  await expect(handOut(call(directory, { hold }), async () => {})).rejects.toMatchObject({
    ...{ outcome: 'no-profiles', message: 'another call has claimed the same profiles, or is about to' },
    hint: 'run this command again; if no other call is running, see softsim status',
  })
  expect([rounds, times]).toEqual([20, Array.from({ length: 19 }, () => 50)])
  expect(unusedIn(directory)).toHaveLength(25)
})

test('a profile that is named can be had an hour after a kill, once a call has found it withheld', async () => {
  const directory = directoryOf(someProfiles(1))
  const { platform } = process
  Object.defineProperty(process, 'platform', { value: 'darwin' })
  try {
    const guard = join(directory, '.claims', iccid(1))
    mkdirSync(guard, { recursive: true })
    const before = Date.now() / 1000 - 7200
    utimesSync(guard, before, before)
    const named = () => handOut(call(directory, { iccid: iccid(1) }), async () => {})
    await expect(named()).rejects.toThrow(/^another call/)
    await named()
  } finally {
    Object.defineProperty(process, 'platform', { value: platform })
  }
  expect(names(directory)).toEqual([`__${X(1)}`])
})

test('a call waits for what another one is about to give back, or to give to the same device', async () => {
  const directory = directoryOf(someProfiles(1))
  const [own, other] = ['a', 'b'].map((tag) => join(directory, `.${X(1)}~${tag.repeat(20)}`)) as [
    string,
    string,
  ]
  renameSync(join(directory, X(1)), own)
  // It has given it back, and holds it again.
  waits.push(() => renameSync(own, other))
  waits.push(() => renameSync(other, join(directory, X(1))))
  const printed: string[] = []
  const print = async (all: readonly HandedOut[]) => void printed.push(...all.map((each) => each.iccid))
  await handOut(call(directory, {}), print)
  expect([printed, waits.splice(0)]).toEqual([[iccid(1)], []])
  const place = directoryOf(someProfiles(1))
  const text = JSON.parse(readFileSync(join(place, X(1)), 'utf8'))
  renameSync(join(place, X(1)), join(place, `.${X(1)}~${'a'.repeat(20)}`))
  waits.push(() => {
    mkdirSync(join(place, '.devices', hash('sha256', 'd')), { recursive: true })
    writeFileSync(join(place, '.devices', hash('sha256', 'd'), iccid(1)), '{"device":"D"}')
    writeFileSync(join(place, `__${X(1)}`), JSON.stringify({ ...text, device: 'D', claim: 'a' }))
    rmSync(join(place, `.${X(1)}~${'a'.repeat(20)}`))
  })
  await handOut(call(place, { devices: ['D'] }), print)
  expect(printed).toEqual([iccid(1), iccid(1)])
})

test('a call for which there is nothing does not wait', async () => {
  waits.push(() => {
    throw new Error('it waits')
  })
  await expect(handOut(call(lot(0), {}), async () => {})).rejects.toMatchObject({
    outcome: 'no-profiles',
  })
  expect(waits.splice(0)).toHaveLength(1)
})
