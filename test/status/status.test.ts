import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { adviceOn } from '../../src/advice/advice.ts'
import { Report } from '../../src/cli/report.ts'
import { listDevices } from '../../src/status/list-devices.ts'
import { type Inquiry, showStatus } from '../../src/status/status.ts'
import { directoryOf, someProfiles, temporaryDirectory, unusedIn } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'

const KEY = { keyPath: inject('keys').privateKeyPath }

/** Collects what is said and printed; a message of level 1 begins with `-v`. */
function listener() {
  const said: string[] = []
  const printed: string[] = []
  const report = new Report((line) => said.push(line.replace('softsim: warning: ', '').trimEnd()))
  const output = {
    format: 'json' as const,
    messages: {
      warn: (...warning: Parameters<Report['warn']>) => report.warn(...warning),
      tell: (level: number, text: string) => void said.push(level === 0 ? text : `-v ${text}`),
    },
    print: async (text: string) => void printed.push(text),
  }
  return { said, printed, output }
}

/** What `status` says of a directory. */
async function statusOf(directory: string, changes: Partial<Inquiry> = {}) {
  const { said, printed, output } = listener()
  const failure = await showStatus({
    directories: [directory],
    keyPath: undefined,
    passphrase: undefined,
    count: Number.POSITIVE_INFINITY,
    progress: { follow: () => {} },
    ...output,
    ...changes,
  }).catch((error) => error)
  return { said, printed, failure }
}

/** What `status --devices` says of a directory. */
async function listOf(directory: string) {
  const { said, printed, output } = listener()
  const all = { since: undefined, station: undefined, results: undefined }
  await listDevices({ directories: [directory], ...all, ...output })
  return { said, printed }
}

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n + 1)
const named = (said: readonly string[], words: string) => said.filter((each) => each.includes(words))

test('if stations take all profiles after they were counted, none is unused', async () => {
  const directory = directoryOf(someProfiles(2))
  /** Called when they are counted and none is opened yet. */
  const follow = () => {
    for (const name of unusedIn(directory)) renameSync(join(directory, name), join(directory, `__${name}`))
  }
  const { failure } = await statusOf(directory, { ...KEY, progress: { follow } })
  expect(adviceOn(failure)).toMatchObject({ outcome: 'no-profiles' })
})

test('the progress counts what is to be checked', async () => {
  let line = () => ''
  const progress = {
    follow: (next: () => string) => {
      line = next
    },
  }
  const directory = directoryOf(someProfiles(3))
  const inquiry = { ...KEY, count: 2, progress }
  const checking = statusOf(directory, inquiry)
  expect(line()).toBe('0 of 2 profiles checked')
  await checking
  expect(line()).toBe('2 of 2 profiles checked')
})

describe('of long lists, twenty are named and the others are counted:', () => {
  test('claims that are not finished', async () => {
    const directory = temporaryDirectory()
    for (const n of numbers(22))
      for (const mark of ['', '__']) writeFileSync(join(directory, `${mark}${iccid(n)}.json`), '')
    const { said } = await statusOf(directory)
    expect(named(said, 'a call is claiming it')).toHaveLength(20)
    expect(said.at(-1)).toBe('2 more claims are not finished')
  })

  test('used files that can’t be read', async () => {
    const directory = temporaryDirectory()
    for (const n of numbers(22)) mkdirSync(join(directory, `__${iccid(n)}.json`))
    writeFileSync(join(directory, '__1.json'), '{}')
    const { said } = await listOf(directory)
    expect(named(said, 'is left out: ')).toHaveLength(20)
    expect(said.slice(-2)).toEqual(['2 more files are left out', '1 used profile without a device'])
  })

  test('devices with several profiles', async () => {
    const directory = temporaryDirectory()
    for (const n of numbers(44)) {
      const used = { iccid: iccid(n), device: `D${n % 22}`, station: 's', claimed: String(100 - n) }
      writeFileSync(join(directory, `__${iccid(n)}.json`), JSON.stringify(used))
    }
    const { said, printed } = await listOf(directory)
    expect(named(said, 'find out which one it uses')).toHaveLength(20)
    expect(said.at(-1)).toBe('2 more devices have several profiles')
    // The oldest first, and all of it at once.
    expect(printed).toHaveLength(1)
    expect(printed[0]).toMatch(/^\{"claimed":"56",/)
  })
})
