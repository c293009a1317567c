import { join } from 'node:path'
import { beforeEach, describe, expect, inject, test, vi } from 'vitest'
import { adviceOn } from '../../src/advice/advice.ts'
import { Report } from '../../src/cli/report.ts'
import { type Handout, handOut } from '../../src/next/hand-out.ts'
import { cutPower, events, format, fs, live, ROOT } from '../store/disk.ts'
import { iccid, plainProfile, storedFile } from '../support/profiles.ts'

/** What happens when the first byte is about to be printed, and how much of it a reader takes before it goes away. */
const output = vi.hoisted(() => ({ onPrint: () => {}, share: 1 }))

vi.mock('node:fs', async () => {
  const { diskSync } = await import('../store/disk-fs.ts')
  const write = (_file: number, bytes: Buffer, done: (error: Error | null, written: number) => void) => {
    output.onPrint()
    const length = Math.round(bytes.length * output.share)
    output.share = Math.floor(output.share)
    if (length > 0) setImmediate(done, null, length)
    else setImmediate(done, Object.assign(new Error('EPIPE'), { code: 'EPIPE' }), 0)
  }
  return { ...diskSync, write, default: { ...diskSync, write } }
})

const { diskSync } = await import('../store/disk-fs.ts')
const { privateKey, publicKey } = inject('keys')
const directory = join(ROOT, 'profiles')
const keyPath = join(ROOT, 'softsim.pem')
const receipt = join(ROOT, 'receipt.jsonl')

function flush(path: string): void {
  const opened = diskSync.openSync(path, 'r')
  diskSync.fsyncSync(opened)
  diskSync.closeSync(opened)
}

/** Begins with a key, three profiles and an empty file of receipts, all of them durable. */
beforeEach(() => {
  output.onPrint = () => {}
  output.share = 1
  format()
  live()
  diskSync.mkdirSync(directory)
  const profiles = [1, 2, 3].map((n): [string, string] => [
    join(directory, `${iccid(n)}.json`),
    storedFile(plainProfile(n), publicKey),
  ])
  for (const [path, text] of [...profiles, [keyPath, privateKey], [receipt, '']] as const) {
    diskSync.writeFileSync(path, text)
    flush(path)
  }
  flush(directory)
  flush(ROOT)
})

const PLAIN: Handout = {
  ...{
    directory,
    keyPath,
    receipt,
    passphrase: undefined,
    lowStock: undefined,
    count: 1,
    iccid: undefined,
    devices: undefined,
  },
  ...{ format: 'raw', options: { smsp: false, smsc: true, crc: false }, messages: new Report(() => {}) },
  listen: () => ({ stop: new AbortController().signal, hold() {} }),
}

/** The disk in memory has POSIX's rules and names. */
describe.skipIf(process.platform === 'win32')('when the first byte is printed, a power cut undoes', () => {
  test.each<[string, number[], Partial<Handout>]>([
    ['the next one', [1], {}],
    ['a panel', [1, 2, 3], { count: 3 }],
    ['a device', [1], { devices: ['A'] }],
    ['--iccid', [2], { iccid: iccid(2) }],
  ])('neither the claim nor the receipt: %s', async (_, taken, changes) => {
    let left: { used: string[]; receipts: string } | undefined
    output.onPrint = () => {
      cutPower(() => 0)
      const names = fs.readdirSync(directory).map(String)
      left = {
        used: names.filter((name) => name.startsWith('__')),
        receipts: String(fs.readFileSync(receipt)),
      }
    }
    await handOut({ ...PLAIN, ...changes })
    const iccids = taken.map((n) => iccid(n))
    expect(left?.used).toEqual(iccids.map((each) => `__${each}.json`))
    const receipts = left?.receipts.trimEnd().split('\n') ?? []
    expect(receipts.map((line) => JSON.parse(line).iccid)).toEqual(iccids)
  })
})

test.skipIf(process.platform === 'win32')('no receipt is written before the claim is durable', async () => {
  await handOut(PLAIN)
  const steps = events.map(({ step, path }) => `${step} ${path}`)
  expect(steps.lastIndexOf(`flush ${directory}`)).toBeGreaterThan(0)
  expect(steps.lastIndexOf(`write ${receipt}`)).toBeGreaterThan(steps.lastIndexOf(`flush ${directory}`))
})

test.skipIf(process.platform === 'win32')(
  'a reader that goes away amid the second line may have it',
  async () => {
    output.share = 0.5
    const said: string[] = []
    const call = { ...PLAIN, count: 3, messages: new Report((text) => said.push(text)) }
    await expect(handOut(call)).rejects.toMatchObject({
      facts: { kind: 'undelivered', begun: 2 },
      message: expect.stringContaining('1 of 3 profiles listed above; the first 2 may have been delivered'),
    })
    const fates = said.flatMap((text) => {
      const [, ...fate] = /warning: claimed (.*) delivered: (\d+)/.exec(text) ?? []
      return fate.length > 0 ? [fate] : []
    })
    expect(fates).toEqual([
      ['and may have been', iccid(1)],
      ['and may have been', iccid(2)],
      ['but not', iccid(3)],
    ])
  },
)

test.skipIf(process.platform === 'win32').each([
  [1, 0, /; to print it again: softsim next /],
  [1, 0.5, /; find out whether a device has it; if none has it, print it again: softsim next /],
  [3, 0.2, /; to print each that was not delivered again: .*; the first 1 only if no device has them$/],
  [3, 0.9, /; find out which of them a device has; to print each of the others again: softsim next /],
])(
  '%i printed, and the reader takes a share of %d: what it may have is not simply printed again',
  async (count, share, hint) => {
    output.share = share
    const error = await handOut({ ...PLAIN, count }).catch((reason: unknown) => reason)
    expect(adviceOn(error)).toMatchObject({ outcome: 'disk', hint: expect.stringMatching(hint) })
  },
)
