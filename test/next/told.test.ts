import { join } from 'node:path'
import { afterEach, expect, inject, test, vi } from 'vitest'
import { type Handout, handOut } from '../../src/next/hand-out.ts'
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

afterEach(() => {
  events.length = 0
})

async function next(directory: string, changes: Partial<Handout> = {}): Promise<string[]> {
  await handOut({
    directory,
    keyPath: inject('keys').privateKeyPath,
    passphrase: undefined,
    count: 1,
    iccid: undefined,
    devices: undefined,
    receipt: undefined,
    lowStock: undefined,
    format: 'hex',
    options: { smsp: false, smsc: true, crc: true },
    messages: {
      warn: (text) => void events.push(`warning: ${text}`),
      tell: (level, text) => {
        if (level < 2) events.push(`${level}: ${text}`)
      },
    },
    listen: () => ({ stop: new AbortController().signal, hold: () => void events.push('hold') }),
    ...changes,
  })
  return events.splice(0)
}

test('the profile first, then where it is now and how many are left', async () => {
  const directory = directoryOf(someProfiles(3))
  const now = (n: number) => `now ${join(directory, `__${iccid(n)}.json`)}`
  expect(await next(directory)).toEqual([
    'hold',
    'printed 1',
    `1: handed out ${iccid(1)}, ${now(1)}`,
    `1: at most 2 unused profiles left in ${directory}`,
  ])
  expect(await next(directory, { devices: ['D'] })).toEqual([
    'hold',
    'printed 1',
    `1: handed out ${iccid(2)} to device D, ${now(2)}`,
    `1: at most 1 unused profile left in ${directory}`,
  ])
  expect((await next(directory)).at(-1)).toBe(`1: no other known unused profile in ${directory}`)
  // How many are left is not known here.
  expect(await next(directory, { iccid: iccid(1) })).toEqual([
    'hold',
    'printed 1',
    `warning: ${iccid(1)} was handed out before: use it only for the same device`,
    `1: handed out ${iccid(1)}, ${now(1)}`,
  ])
})
