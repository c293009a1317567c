/** What `next` tells of its work, and in which order. */
import { join } from 'node:path'
import { expect, inject, test, vi } from 'vitest'
import { handOut } from '../../src/next/hand-out.ts'
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
  await handOut({
    ...{ directory, keyPath: inject('keys').privateKeyPath, passphrase: undefined },
    ...{ count: 1, iccid: iccid(1), devices: ['D'], receipt: undefined, lowStock: undefined },
    ...{ format: 'hex', options: { smsp: false, smsc: true, crc: true } },
    messages: {
      warn: (text) => void events.push(`warning: ${text}`),
      tell: (level, text) => {
        if (level < 2) events.push(text)
      },
    },
    listen: () => ({ stop: new AbortController().signal, hold: () => void events.push('hold') }),
  })
  const now = join(directory, `__${iccid(1)}.json`)
  expect(events).toEqual(['hold', 'printed 1', `handed out ${iccid(1)} to device D, now ${now}`])
})
