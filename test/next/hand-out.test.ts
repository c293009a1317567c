/** What `next` tells of its work, and of what it has claimed and could not deliver. */
import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test, vi } from 'vitest'
import { adviceOn } from '../../src/advice/advice.ts'
import { Failure } from '../../src/failure.ts'
import { type Delivery, handOut, undelivered } from '../../src/next/hand-out.ts'
import type { Ready } from '../../src/next/ready.ts'
import { WriteFailure } from '../../src/next/standard-output.ts'
import { directoryOf, someProfiles } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'

/** What happened, in this order: messages, printed lines, and the step from which on no signal ends the call. */
const events = vi.hoisted((): string[] => [])

vi.mock('../../src/next/standard-output.ts', async (original) => ({
  ...(await original<typeof import('../../src/next/standard-output.ts')>()),
  isOutputClosed: () => false,
  isOnScreen: async () => false,
  writeOutput: async (text: string) => void events.push(`printed ${text.trim().split('\n').length}`),
}))

test('from the claim on, no signal ends the call; the profile comes first, then what is told of it', async () => {
  const directory = directoryOf(someProfiles(3))
  const path = (begins: string) => join(directory, `${begins}${iccid(1)}.json`)
  await handOut({
    ...{ directory, keyPath: inject('keys').privateKeyPath, passphrase: undefined },
    ...{ count: 1, devices: ['D'], receipt: undefined, lowStock: undefined },
    ...{ format: 'hex', options: { smsp: false, smsc: true, crc: true } },
    messages: {
      warn: (text) => void events.push(`warning: ${text}`),
      tell: (_, text) => void events.push(text),
    },
    listen: () => ({
      stop: new AbortController().signal,
      hold: () => {
        events.push('hold')
        // Another call is first.
        if (existsSync(path(''))) renameSync(path(''), path('__'))
      },
    }),
  })
  const said = events.map((each) => each.split(' ')[0])
  expect(said.join(' ')).toBe('reading hold hold printed reading warning: handed at')
  const now = path('__').replace(iccid(1), iccid(2))
  expect(events[6]).toBe(`handed out ${iccid(2)} to device D, now ${now}`)
})

/** Each has a line of four bytes. */
const ready = (n: number, device?: string): Ready => ({
  ...{ iccid: `898${n}`, name: `898${n}.json`, stored: '', line: 'ü0' },
  ...{ newerProblems: [], missingKeys: [] },
  ...(device === undefined ? {} : { device }),
})

const EIO = Object.assign(new Error('EIO'), { code: 'EIO' })
const AGAIN = 'softsim next -k k.pem -i D --iccid'
const NOT_AGAIN = 'do not run the same command again: it takes'

/** What a call says that has claimed these profiles and could not deliver them. */
function failureOf(taken: Ready[], error: unknown, changes: Partial<Delivery> & { isStopped?: true } = {}) {
  const warnings: string[] = []
  const delivery = {
    directory: 'D',
    keyPath: 'k.pem',
    ...{ format: 'hex', options: { smsp: false, smsc: true, crc: true } },
    iccid: undefined,
    messages: { warn: (text: string) => void warnings.push(text), tell: () => {} },
    signals: {
      stop: changes.isStopped ? AbortSignal.abort() : new AbortController().signal,
      beforeClaim: () => {},
    },
    receipt: undefined,
    ...changes,
  }
  return { ...adviceOn(undelivered(taken, delivery as unknown as Delivery, error)), warnings }
}

test('for a device, with --new: the command that prints it again', () => {
  const { hint } = failureOf([ready(1, 'A')], EIO, { isNew: true })
  expect(hint).toMatch(/^run the same command again, without --new: each /)
})

test('the command that prints it again prints the same bytes', () => {
  const { hint } = failureOf([ready(1)], EIO, {
    ...{ format: 'json', options: { smsp: true, smsc: false, crc: false } },
  })
  expect(hint).toMatch(/ --iccid \d+ --format=json --smsp --no-smsc --no-crc$/)
})

describe('a panel of three', () => {
  const panel = [1, 2, 3].map((n) => ready(n))
  const at = (possible: number) => failureOf(panel, new WriteFailure(possible, EIO))

  test.each([
    [1, 1],
    [4, 1],
    [5, 2],
    [8, 2],
  ])('of which %i bytes may have been read: the first %i may be in a device', (possible, first) => {
    const { message, hint, warnings } = at(possible)
    expect(message).toContain(
      `claimed but not delivered: ${3 - first} of 3 profiles listed above; the first ${first} may have been delivered`,
    )
    expect(hint).toContain(`${AGAIN} <ICCID>; the first ${first} only if no device has them`)
    expect(warnings.map((each) => each.includes('may have been'))).toEqual([0, 1, 2].map((n) => n < first))
  })

  test('of which all may have been read', () => {
    const { message, hint } = at(9)
    expect(message).toMatch(/^claimed and may have been delivered: 3 profiles listed above: /)
    expect(hint).toMatch(/find out which of them a device has; to print each of the others again: /)
  })

  test('of which only some are devices’', () => {
    expect(failureOf([ready(1, 'A'), ready(2)], EIO).hint).toContain(NOT_AGAIN)
  })
})

describe('the cause', () => {
  test.each(['ENOSPC', 'EDQUOT', 'EROFS', 'EFBIG'])('%s comes with what helps', (code) => {
    const error = Object.assign(new Error(code), { code })
    for (const each of [error, new Error('the receipt', { cause: error }), new WriteFailure(0, error)])
      expect(failureOf([ready(1)], each).hint).toMatch(/^(free|make|raise) /)
  })

  test('a failure keeps its exit code; a signal has its own', () => {
    const failure = new Failure('no-more', 'none')
    expect(failureOf([ready(1)], failure).outcome).toBe('no-profiles')
    const stopped = failureOf([ready(1)], failure, { isStopped: true })
    expect([stopped.outcome, stopped.message.split(': ').at(-1)]).toEqual(['interrupted', 'interrupted'])
  })
})
