import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import {
  addProfile,
  directoryOf,
  namesIn,
  someProfiles,
  temporaryDirectory,
  usedIn,
} from '../support/directory.ts'
import { rsaKeyPair } from '../support/keys.ts'
import { plainProfile } from '../support/profiles.ts'
import { failure } from '../support/promises.ts'
import { NORMAL_KEY, REFUSES, startSandbox } from '../support/sandbox.ts'
import { softsim, until } from '../support/softsim.ts'
import { hasFullDevice, hasPosix, isRunByNode } from '../support/system.ts'
import { dataOf } from '../support/tlv.ts'

const { privateKeyPath: KEY } = inject('keys')
const next = (directory: string, ...more: string[]) => softsim(['next', '-k', KEY, '-i', directory, ...more])

describe('0: done', () => {
  test('fetch', async () => {
    const { fetch, directory } = await startSandbox()
    const summary =
      /^softsim: stored 3 profiles in .+ \(1 requests?, [\d.]+ s\)\nsoftsim: .+ 3 unused profiles now\n$/
    expect(await fetch(['-n', '3'])).toEqual({
      code: 0,
      signal: null,
      stdout: '',
      stderr: expect.stringMatching(summary),
    })
    expect(namesIn(directory)).toHaveLength(3)
  })

  test('next', async () => {
    const directory = directoryOf(someProfiles(1))
    const { stdout, ...rest } = await next(directory)
    expect(rest).toEqual({ code: 0, signal: null, stderr: '' })
    expect(stdout).toMatch(/^[0-9a-f]+\n$/)
    expect(dataOf(stdout.trim(), '04')).toBe(plainProfile(1).k.toLowerCase())
  })
})

describe('1: internal error', () => {
  // There should be no way to bring it about; so the Node that runs the program is spoilt.
  test.skipIf(!isRunByNode)('a Node without a required feature', async () => {
    const spoiler = join(temporaryDirectory(), 'spoiler.cjs')
    writeFileSync(spoiler, 'globalThis.AbortController = undefined\n')
    const env = { NODE_OPTIONS: `--require=${JSON.stringify(spoiler)}` }
    const directory = directoryOf(someProfiles(1))
    const run = await softsim(['next', '-k', KEY, '-i', directory], { env })
    expect(run).toEqual(failure(1, /internal error in softsim: .*AbortController.*/, /.*report.*/))
  })
})

test('2: an invalid command line', async () => {
  expect(await softsim(['fetch', '--nope'])).toEqual(
    failure(2, /unknown option --nope/, /see softsim help fetch/),
  )
  expect(await softsim(['next', '--nope'])).toEqual(
    failure(2, /unknown option --nope/, /see softsim help next/),
  )
})

describe('3: no profiles', () => {
  test('the directory is empty', async () => {
    expect(await next(directoryOf([]))).toEqual(failure(3, /no unused profile in .+/, /.*softsim fetch.*/))
  })

  test('all profiles are used', async () => {
    const directory = directoryOf(someProfiles(1))
    await next(directory)
    expect(await next(directory)).toEqual(failure(3, /no unused profile in .+/))
  })

  test('there is no such directory', async () => {
    const missing = join(temporaryDirectory(), 'missing')
    expect(await next(missing)).toEqual(failure(3, /directory .+missing does not exist/))
  })

  test('the service has none', async () => {
    const { fetch, directory } = await startSandbox({ supply: 0 })
    expect(await fetch()).toEqual(failure(3, /.*no more profiles.*/))
    expect(namesIn(directory)).toEqual([])
  })
})

describe('4: the private key', () => {
  test('can’t be read', async () => {
    const run = await softsim(['next', '-k', 'missing.pem', '-i', directoryOf(someProfiles(1))])
    expect(run).toEqual(failure(4, /.*missing\.pem: no such file or directory.*/))
  })

  test('is not a key', async () => {
    const path = join(temporaryDirectory(), 'empty.pem')
    writeFileSync(path, '')
    const directory = directoryOf(someProfiles(1))
    expect(await softsim(['next', '-k', path, '-i', directory])).toEqual(failure(4, /.*empty\.pem is empty/))
  })

  test('does not decrypt these profiles', async () => {
    const directory = directoryOf(someProfiles(8))
    const before = namesIn(directory)
    const { privateKeyPath } = rsaKeyPair(temporaryDirectory(), 2048)
    const run = await softsim(['next', '-k', privateKeyPath, '-i', directory])
    expect(run).toEqual(
      failure(4, /the private key does not decrypt these profiles.*/, /.*nothing was claimed.*/),
    )
    expect(namesIn(directory)).toEqual(before)
  })
})

test('5: there are unused profiles, but none of them can be used', async () => {
  const directory = directoryOf([])
  const torn = `${plainProfile(1).iccid}.json`
  writeFileSync(join(directory, torn), '{"iccid":"')
  const unfit = addProfile(directory, plainProfile(2), { k: 'short' })
  const { code, stdout, stderr } = await next(directory)
  expect([code, stdout]).toEqual([5, ''])
  expect(stderr).toMatch(/^softsim: error: none of the .*unused profiles in .+ can be used$/m)
  expect(stderr).toContain(`softsim: warning: ${torn} `)
  expect(stderr).toContain(`softsim: warning: ${unfit} `)
})

describe('6: the service does not accept the API key', () => {
  test.each([
    [401, 'unknown-key'],
    [403, NORMAL_KEY],
  ])('%i', async (status, key) => {
    const { fetch, requests, directory } = await startSandbox()
    const run = await fetch(['-n', '5000'], { env: { SOFTSIM_API_KEY: key } })
    expect(run).toEqual(
      failure(
        6,
        RegExp(`.*does not accept the API key.*${status}.*`),
        status === 403 ? /.*SOFTSIM_API_KEY.*, or correct --url: .*/ : /.*SOFTSIM_API_KEY.*/,
      ),
    )
    expect(requests).toHaveLength(1)
    expect(namesIn(directory)).toEqual([])
  })
})

describe('7: the service or the network', { concurrent: true }, () => {
  // It takes some seconds: once is enough.
  test.skipIf(isRunByNode)('refuses the connection', async () => {
    const { startFetch } = await startSandbox()
    const { child, ended } = startFetch(['-u', REFUSES])
    let said = ''
    child.stderr?.on('data', (text) => {
      said += text
    })
    expect(await ended).toEqual(
      failure(7, /the service refuses the connection.*/, /check the host and the port in --url.*/),
    )
    // It says so at once, and tries for a few seconds.
    expect(said).toMatch(
      /^softsim: 0 % \(0 of 1\), the service refuses the connection; trying again (in \d+ s|now) \(try \d+, up to 3 s\)$/m,
    )
  })

  test('returns an error that does not go away', async () => {
    const { fetch, fault, requests } = await startSandbox()
    fault({ kind: 'status', status: 400, body: 'the query must have a version' })
    expect(await fetch()).toEqual(failure(7, /the service answered 400: the query must have a version/))
    expect(requests).toHaveLength(1)
  })
})

test('8: fetch stored some of the requested profiles, but not all', async () => {
  const { fetch, directory } = await startSandbox({ supply: 4 })
  expect(await fetch(['-n', '10'])).toEqual(failure(8, /stored 4 of 10 profiles in .+: .*no more profiles.*/))
  expect(namesIn(directory)).toHaveLength(4)
})

describe('9: the disk', () => {
  test('fetch: a file is where the directory should be', async () => {
    const path = join(temporaryDirectory(), 'file')
    writeFileSync(path, '')
    const { url, requests } = await startSandbox()
    const run = await softsim(['fetch', '-u', url, '-a', 'key1', '-o', path])
    expect(run).toEqual(failure(9, /can't write to the directory .*/))
    expect(requests).toEqual([])
  })

  test('fetch: if nothing can be saved in the directory, no request is sent', async () => {
    const { fetch, directory, requests } = await startSandbox()
    mkdirSync(directory)
    // A file in the place where answers are put aside: works for root too, and on every system.
    writeFileSync(join(directory, '.incoming'), '')
    expect(await fetch()).toEqual(failure(9, /can't write to the directory .*/))
    expect(requests).toEqual([])
  })

  test.skipIf(!hasFullDevice)('next: standard output is full', async () => {
    const directory = directoryOf(someProfiles(1))
    const options = { shell: '"$@" > /dev/full' }
    const run = await softsim(['next', '-k', KEY, '-i', directory], options)
    expect(run).toEqual(failure(9, /.*not delivered.*no space left.*/))
    expect(run.stderr).toContain(plainProfile(1).iccid)
    expect(run.stderr).toContain(usedIn(directory)[0])
  })
})

test.skipIf(!hasPosix)('130: interrupted', async () => {
  const { startFetch, fault, allocated, directory } = await startSandbox()
  const { promise, resolve: release } = Promise.withResolvers<void>()
  fault({ kind: 'hold', until: promise })
  const { child, says, ended } = startFetch(['-n', '3000'])
  await until(() => allocated.size > 0)
  child.kill('SIGINT')
  await says('interrupted')
  release()
  const { code, stdout, stderr } = await ended
  expect([code, stdout]).toEqual([130, ''])
  expect(stderr).toMatch(/^softsim: error: interrupted: stored 100 of 3000 profiles in /m)
  expect(readdirSync(directory).filter((name) => name.endsWith('.json'))).toHaveLength(100)
})
