/** `next --device` where the device has a profile already, as far as killed calls, other calls and the disk let it. */
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterEach, describe, expect, inject, test, vi } from 'vitest'
import { adviceOn } from '../../../src/cli/advice/advice.ts'
import { type PrivateKey, parsePrivateKey } from '../../../src/key/private-key.ts'
import { type Source, Undelivered } from '../../../src/next/ready.ts'
import { takeForDevices } from '../../../src/next/take/for-devices.ts'
import { textFor } from '../../../src/store/devices/draft.ts'
import { pathOf } from '../../../src/store/devices/file-names.ts'
import { directoryOf, namesIn, someProfiles } from '../../support/directory.ts'
import { iccid } from '../../support/profiles.ts'

/** What happens in each pause, and which paths the disk refuses, with which error. */
const station = vi.hoisted(() => ({
  meanwhile: (_ms: number) => {},
  refuses: (_call: string, _path: string) => undefined as string | undefined,
}))

vi.mock('../../../src/pause.ts', () => ({ pause: (ms: number) => station.meanwhile(ms) }))
vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const refusing =
    <A extends unknown[], R>(name: string, call: (...args: A) => R, path = 0) =>
    (...args: A) => {
      const code = station.refuses(name, String(args[path]))
      if (code !== undefined) throw Object.assign(new Error(code), { code })
      return call(...args)
    }
  const changed = {
    lstatSync: refusing('look', fs.lstatSync),
    linkSync: refusing('create', fs.linkSync, 1),
    openSync: ((path, flags, mode) =>
      flags === 'wx'
        ? refusing('create', fs.openSync)(path, flags, mode)
        : fs.openSync(path, flags, mode)) as typeof fs.openSync,
    writeFileSync: refusing('create', fs.writeFileSync),
  }
  return { ...fs, ...changed, default: { ...fs, ...changed } }
})

afterEach(() => {
  station.meanwhile = () => {}
  station.refuses = () => undefined
})

const { privateKey } = inject('keys')
const unused = (n: number) => `${iccid(n)}.json`

/** A directory with three profiles, and calls for devices in it. */
function line(key: PrivateKey = { object: createPrivateKey(privateKey), inFile: 1 }) {
  const directory = directoryOf(someProfiles(3))
  const path = (name: string) => join(directory, name)
  const said: string[] = []
  const source: Source = {
    directory,
    key,
    format: 'raw',
    options: { smsp: false, smsc: true, crc: true },
    messages: { warn: (text) => void said.push(text), tell: () => {} },
    signals: { stop: new AbortController().signal, hold: () => {} },
  }
  const textOf = (n: number, device: string) =>
    textFor(device, { name: unused(n), stored: readFileSync(path(unused(n)), 'utf8') })
  return {
    directory,
    path,
    said,
    textOf,
    /** As a power cut leaves it: only the record says that the device has the first profile. */
    record(device: string) {
      mkdirSync(path('.devices'))
      writeFileSync(pathOf(directory, device, 1), textOf(1, device))
    },
    async take(...devices: string[]) {
      const { taken } = await takeForDevices(source, devices)
      return taken.map((each) => [each.iccid, each.isAgain])
    },
  }
}

describe('the profile of the device is being claimed by another call', () => {
  test('it is waited for, and then the claim is this one’s', async () => {
    const { path, record, take } = line()
    record('D')
    writeFileSync(path(`__${unused(1)}`), '')
    let pauses = 0
    station.meanwhile = () => {
      if (++pauses === 19) rmSync(path(`__${unused(1)}`))
    }
    expect(await take('D')).toEqual([[iccid(1), false]])
  })

  test('which was killed: after a second, its claim is settled, and the device gets another profile', async () => {
    const { path, record, said, take } = line()
    record('D')
    writeFileSync(path(`__${unused(1)}`), '')
    let pausedMs = 0
    station.meanwhile = (ms) => {
      pausedMs += ms
    }
    expect(await take('D')).toEqual([[iccid(2), false]])
    expect(pausedMs).toBe(1000)
    expect(said).toEqual([expect.stringContaining(`${iccid(1)} is marked used but was not printed`)])
  })

  test('which is releasing it, and does not end: the device gets no other profile', async () => {
    const { directory, path, record, take } = line()
    record('D')
    writeFileSync(path(`__${unused(1)}`), '')
    writeFileSync(path(`.${iccid(1)}.settled`), '')
    await expect(take('D').catch(adviceOn)).resolves.toMatchObject({
      outcome: 'no-profiles',
      message: `another call is claiming ${unused(1)}, which device D was assigned`,
    })
    expect(namesIn(directory)).toContain(unused(2))
  })
})

test('the file of the profile is gone: a person is told to put it back', async () => {
  const { path, record, take } = line()
  record('D')
  rmSync(path(unused(1)))
  await expect(take('D').catch(adviceOn)).resolves.toMatchObject({
    outcome: 'no-profiles',
    hint: expect.stringMatching(RegExp(`^put ${unused(1)} or its used file back`)),
  })
})

test('only the first key of the file was tried: the hint says so', async () => {
  const { privateKey: another } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const both = `${another.export({ type: 'pkcs1', format: 'pem' })}${privateKey}`
  const { record, take } = line(parsePrivateKey(Buffer.from(both), 'both.pem', undefined))
  record('D')
  await expect(take('D').catch(adviceOn)).resolves.toMatchObject({
    outcome: 'key',
    message: expect.stringMatching(/^the profile of device D can't be handed out: /),
    hint: expect.stringMatching(/^only the first of the 2 keys in its file was tried; /),
  })
})

describe('the disk fails:', () => {
  const fail = (call: string, ending: RegExp, code = 'EIO') => {
    station.refuses = (name, path) => (name === call && ending.test(path) ? code : undefined)
  }

  test.each([
    ['EIO', /^check the disk, then run the same command again$/],
    ['EACCES', /^give this user permission .*, then run the same command again$/],
  ])('which profile the device has can’t be read: %s', async (code, hint) => {
    const { record, take } = line()
    record('D')
    fail('look', /\.json$/, code)
    await expect(take('D').catch(adviceOn)).resolves.toMatchObject({
      outcome: 'disk',
      message: expect.stringMatching(/^can't record which profile device D has: /),
      hint: expect.stringMatching(hint),
    })
  })

  test('the used file of the profile is no file', async () => {
    const { path, record, take } = line()
    record('D')
    mkdirSync(path(`__${unused(1)}`))
    await expect(take('D').catch(adviceOn)).resolves.toMatchObject({
      outcome: 'unusable',
      message: "the profile of device D can't be handed out: it is not a regular file",
    })
  })

  test('the record can’t be written: the profile is named, no draft stays, and the next call gets it', async () => {
    const { directory, take } = line()
    fail('create', /[0-9a-f]{64}\.1$/)
    await expect(take('D').catch(adviceOn)).resolves.toMatchObject({
      outcome: 'disk',
      message: expect.stringContaining(`can't record ${unused(1)} for device D: `),
    })
    expect(readdirSync(join(directory, '.devices')).filter((name) => name.startsWith('~'))).toEqual([])
    station.refuses = () => undefined
    expect(await take('D')).toEqual([[iccid(1), false]])
  })

  test('at a device that has a profile: only what is newly claimed for the others is named', async () => {
    const { directory, take } = line()
    for (const device of ['A', 'B']) await take(device)
    let isClaimed = false
    station.refuses = (call, path) => {
      if (path === pathOf(directory, 'C', 1)) isClaimed = true
      return isClaimed && call === 'look' && path.endsWith(unused(2)) ? 'EIO' : undefined
    }
    const error = await take('A', 'B', 'C').catch((error) => error)
    expect(error).toBeInstanceOf(Undelivered)
    expect(error.taken).toMatchObject([{ iccid: iccid(3), device: 'C' }])
  })
})

test.each(['', 'D'])(
  'nothing but the record stays, whether the device had one or not: %j',
  async (recorded) => {
    const { directory, record, take } = line()
    if (recorded !== '') record(recorded)
    expect(await take('D')).toEqual([[iccid(1), false]])
    expect(readdirSync(join(directory, '.devices'))).toEqual([basename(pathOf(directory, 'D', 1))])
  },
)

test('too few for a panel: what its devices have counts too', async () => {
  const { directory, take } = line()
  await take('A')
  await expect(take('A', 'B', 'C', 'D').catch(adviceOn)).resolves.toMatchObject({
    outcome: 'no-profiles',
    message: `at most 3 of 4 requested profiles are available in ${directory}`,
  })
  expect(namesIn(directory)).toEqual([unused(2), unused(3), `__${unused(1)}`])
})
