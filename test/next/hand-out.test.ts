/** What a reader has that goes away: it may have taken any share of what is printed. */
import { join } from 'node:path'
import { beforeEach, expect, inject, test, vi } from 'vitest'
import { adviceOn } from '../../src/advice/advice.ts'
import { Report } from '../../src/cli/report.ts'
import { type Handout, handOut } from '../../src/next/hand-out.ts'
import { directoryOf, someProfiles, temporaryDirectory } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'

/** How much of the first write the reader takes before it goes away. */
const output = vi.hoisted(() => ({ share: 1 }))

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const write = (_file: number, bytes: Buffer, done: (error: Error | null, written: number) => void) => {
    const length = Math.round(bytes.length * output.share)
    output.share = Math.floor(output.share)
    if (length > 0) setImmediate(done, null, length)
    else setImmediate(done, Object.assign(new Error('EPIPE'), { code: 'EPIPE' }), 0)
  }
  return { ...fs, write, default: { ...fs, write } }
})

let call: Handout
const said: string[] = []

beforeEach(() => {
  said.length = 0
  call = {
    ...{
      directory: directoryOf(someProfiles(3)),
      keyPath: inject('keys').privateKeyPath,
      passphrase: undefined,
    },
    ...{ receipt: join(temporaryDirectory(), 'receipt.jsonl'), lowStock: undefined },
    ...{ count: 3, iccid: undefined, devices: undefined },
    ...{ format: 'raw', options: { smsp: false, smsc: true, crc: false } },
    messages: new Report((text) => said.push(text)),
    listen: () => ({ stop: new AbortController().signal, hold() {} }),
  }
})

test('half of a panel: the second line may have been read', async () => {
  output.share = 0.5
  await expect(handOut(call)).rejects.toMatchObject({
    facts: { kind: 'undelivered', begun: 2 },
    message: expect.stringContaining('1 of 3 profiles listed above; the first 2 may have been delivered'),
  })
  const fates = said.flatMap((text) => {
    const [, ...fate] = /warning: claimed (.*) delivered: (\d+)/.exec(text) ?? []
    return fate.length > 0 ? [fate] : []
  })
  const MAYBE = 'and may have been'
  expect(fates).toEqual([
    [MAYBE, iccid(1)],
    [MAYBE, iccid(2)],
    ['but not', iccid(3)],
  ])
})

test.each([
  [1, 0, /; to print it again: softsim next /],
  [1, 0.5, /; find out whether a device has it; if none has it, print it again: softsim next /],
  [3, 0.2, /; to print each that was not delivered again: .*; the first 1 only if no device has them$/],
  [3, 0.9, /; find out which of them a device has; to print each of the others again: softsim next /],
])('%i, and a share of %d: what it may have is not simply printed again', async (count, share, hint) => {
  output.share = share
  const error = await handOut({ ...call, count }).catch((reason: unknown) => reason)
  expect(adviceOn(error)).toMatchObject({ outcome: 'disk', hint: expect.stringMatching(hint) })
})
