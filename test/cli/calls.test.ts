/** What a command line asks for: its options, what variables say, and what is taken where nothing is said. */
import { afterEach, describe, expect, inject, test, vi } from 'vitest'
import { Report } from '../../src/cli/report.ts'
import { commandsFor, parse } from '../../src/cli/run.ts'
import { Failure } from '../../src/failure.ts'

type Order = Record<string, unknown>

const asked = vi.hoisted(() => ({
  orders: [] as Order[],
  /** What happens meanwhile. */
  meanwhile: () => {},
}))

vi.mock('../../src/fetch/fetch.ts', () => ({ fetchProfiles: note }))
vi.mock('../../src/status/status.ts', () => ({ showStatus: note }))
vi.mock('../../src/move/move.ts', () => ({ moveProfiles: note }))
vi.mock('../../src/restore/restore.ts', () => ({ restore: note }))
vi.mock('../../src/next/next.ts', () => ({ handOut: note }))

async function note(order: Order): Promise<void> {
  asked.orders.push(order)
  asked.meanwhile()
  // After a profile is delivered, signals are held for good: no other call may follow.
  throw new Failure('interrupted', 'noted', '')
}

afterEach(() => {
  asked.orders.splice(0)
  asked.meanwhile = () => {}
})

const commands = await commandsFor()

/** What is asked for, and what is said meanwhile. */
async function call(line: string, env: NodeJS.ProcessEnv = {}): Promise<{ order: Order; said: string }> {
  let said = ''
  const report = new Report((text) => {
    said += text
  })
  const context = { report, version: '1.2.3', commands, env, umask: 0o022 }
  await expect(parse(line.split(' '), context).validateAndExecute()).rejects.toThrow('noted')
  const [order = {}] = asked.orders.splice(0)
  report.warn('the key is key1')
  return { order, said }
}

const ICCID = '89880000000000000017'
const ALL = Number.POSITIVE_INFINITY

describe('fetch', () => {
  const KEY = { SOFTSIM_API_KEY: 'key1' }
  const URL = 'https://api.onomondo.com/sims/profiles'

  test.each<[line: string, env: NodeJS.ProcessEnv, Order]>([
    ['fetch', KEY, { apiKey: 'key1', count: 1, stock: undefined, directory: 'profiles', url: URL }],
    ['fetch -a key2', KEY, { apiKey: 'key2', version: '1.2.3' }],
    ['fetch -n 7 -o stock', KEY, { count: 7, directory: 'stock' }],
    ['fetch --stock 7', KEY, { count: 1, stock: 7 }],
    [
      'fetch',
      { ...KEY, SOFTSIM_DIR: 'stock', SOFTSIM_URL: 'https://a.example/' },
      { directory: 'stock', url: 'https://a.example/' },
    ],
    ['fetch -u https://b.example/', { ...KEY, SOFTSIM_URL: 'x' }, { url: 'https://b.example/' }],
  ])('%s, with %j', async (line, env, expected) =>
    expect((await call(line, env)).order).toMatchObject(expected),
  )

  test.each([
    ['fetch', KEY],
    ['fetch -a key1', {}],
  ])('the key of %s is in no message', async (line, env) => {
    expect((await call(line, env)).said).toBe('softsim: warning: the key is ***\n')
  })
})

describe('status', () => {
  const KEY = { SOFTSIM_KEY_FILE: 'v.pem', SOFTSIM_KEY_PASSPHRASE: 'a secret' }
  const NONE = { devices: [], iccids: [], format: 'text', list: undefined, keyPath: undefined }

  test.each<[line: string, env: NodeJS.ProcessEnv, Order]>([
    ['status', {}, { ...NONE, directory: 'profiles', count: ALL }],
    // Without -n, the variable does not make it open profiles.
    ['status', KEY, { ...NONE, count: ALL }],
    ['status -n 5', KEY, { keyPath: 'v.pem', count: 5, passphrase: 'a secret' }],
    ['status -k o.pem', KEY, { keyPath: 'o.pem', count: ALL, passphrase: 'a secret' }],
    ['status -k - -n 5 --format csv', {}, { keyPath: '-', count: 5, format: 'csv' }],
    ['status', { SOFTSIM_DIR: 'stock' }, { directory: 'stock' }],
    ['status -i other', { SOFTSIM_DIR: 'stock' }, { directory: 'other' }],
    ['status --devices', {}, { list: 'all' }],
    ['status --passed', {}, { list: 'passed' }],
    ['status --devices --passed', {}, { list: 'passed' }],
    ['status --devices --not-passed', {}, { list: 'not-passed' }],
    ['status --device A --device B', {}, { devices: ['A', 'B'], iccids: [], list: undefined }],
    [`status --iccid ${ICCID}F --device NOREAD`, {}, { devices: ['NOREAD'], iccids: [ICCID] }],
  ])('%s, with %j', async (line, env, expected) =>
    expect((await call(line, env)).order).toMatchObject(expected),
  )
})

describe('move', () => {
  const MODES = { isBack: false, isLost: false, receipt: undefined }

  test.each<[line: string, env: NodeJS.ProcessEnv, Order]>([
    ['move -n 5 -i a -o b', {}, { ...MODES, source: 'a', target: 'b', count: 5 }],
    ['move --all -i a -o b', { SOFTSIM_RECEIPT: 'r' }, { ...MODES, count: ALL, receipt: 'r' }],
    ['move --back -i a -o b', {}, { ...MODES, isBack: true, count: ALL }],
    ['move --lost -i a -o b --receipt r', {}, { ...MODES, isLost: true, receipt: 'r' }],
  ])('%s, with %j', async (line, env, expected) =>
    expect((await call(line, env)).order).toMatchObject(expected),
  )

  test('only --lost warns of what it can do', async () => {
    const [back, lost] = [await call('move --back -i a -o b'), await call('move --lost -i a -o b')]
    expect(back.said).not.toContain('two devices')
    expect(lost.said).toContain(
      'softsim: warning: what the lost directory has of this move becomes unused here: if that directory ever hands it out, or has done so, two devices have one identity\n',
    )
  })

  test('Ctrl-C stops it, and says what comes', async () => {
    asked.meanwhile = () => void process.emit('SIGINT')
    const { order, said } = await call('move --all -i a -o b')
    expect((order['stop'] as AbortSignal).aborted).toBe(true)
    expect(said).toMatch(
      /^softsim: warning: interrupted: stopping soon; the last lines say what to do; press Ctrl-C again to stop at once\n/,
    )
  })
})

test.each<[line: string, Order]>([
  ['restore -i a --receipts r', { directory: 'a', files: ['r'], isDry: false }],
  ['restore -i a --receipts r --receipts s --dry-run', { files: ['r', 's'], isDry: true }],
  ['restore -i a --without-receipts', { files: [], isDry: false }],
])('%s', async (line, expected) => expect((await call(line)).order).toMatchObject(expected))

describe('next', () => {
  const key = inject('keys').privateKeyPath
  const HEX = { format: 'hex', options: { smsp: false, smsc: true, crc: true } }

  test.each<[options: string, env: NodeJS.ProcessEnv, Order]>([
    ['', {}, { ...HEX, directory: 'profiles', count: 1, isNew: false }],
    [' -n 7 -i stock', {}, { count: 7, directory: 'stock' }],
    [' --smsp', {}, { options: { smsp: true, smsc: true, crc: true } }],
    [' --no-smsc --format json', {}, { format: 'json', options: { smsp: false, smsc: false, crc: true } }],
    [' --no-crc --format raw', {}, { format: 'raw', options: { smsp: false, smsc: true, crc: false } }],
    [' --device B --device A', {}, { count: 2, devices: ['B', 'A'], isNew: false }],
    [' --device A --new', {}, { count: 1, devices: ['A'], isNew: true }],
    [` --iccid ${ICCID} --device A`, {}, { count: 1, iccid: ICCID, devices: ['A'] }],
    ['', { SOFTSIM_DIR: 'stock', SOFTSIM_RECEIPT: 'r' }, { directory: 'stock', receipt: 'r' }],
    [' -i other --receipt s', { SOFTSIM_DIR: 'stock', SOFTSIM_RECEIPT: 'r' }, { receipt: 's' }],
  ])('next%s, with %j', async (options, env, expected) => {
    const given = await call(`next${options}`, { ...env, SOFTSIM_KEY_FILE: key })
    expect(given.order).toMatchObject(expected)
    const own = ['devices', 'iccid', 'receipt'].filter((name) => name in given.order)
    expect(own).toEqual(['devices', 'iccid', 'receipt'].filter((name) => name in expected))
  })
})
