/** `next --iccid` beside other calls that claim the same profile, or were killed while they did. */
import { createPrivateKey } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, inject, test, vi } from 'vitest'
import { adviceOn } from '../../../src/cli/advice/advice.ts'
import type { Source } from '../../../src/next/ready.ts'
import { takeByIccid } from '../../../src/next/take/by-iccid.ts'
import { textFor } from '../../../src/store/devices/draft.ts'
import { pathOf } from '../../../src/store/devices/file-names.ts'
import { directoryOf, namesIn, someProfiles, temporaryDirectory } from '../../support/directory.ts'
import { iccid } from '../../support/profiles.ts'

/** What happens in each pause, and the error of each look at a name. */
const station = vi.hoisted(() => ({
  meanwhile: (_ms: number) => {},
  looks: undefined as string | undefined,
}))

vi.mock('../../../src/pause.ts', () => ({ pause: (ms: number) => station.meanwhile(ms) }))
vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const lstatSync = (path: string, options?: object) => {
    if (station.looks !== undefined) throw Object.assign(new Error(station.looks), { code: station.looks })
    return fs.lstatSync(path, options)
  }
  return { ...fs, lstatSync, default: { ...fs, lstatSync } }
})

afterEach(() => {
  station.meanwhile = () => {}
  station.looks = undefined
})

const unused = (n: number) => `${iccid(n)}.json`
const key = { object: createPrivateKey(inject('keys').privateKey), inFile: 1 }

/** A directory with one profile, and a call that takes it; `hold` is called right before the claim. */
function call(hold: () => void = () => {}) {
  const directory = directoryOf(someProfiles(1))
  const path = (name: string) => join(directory, name)
  const stored = readFileSync(path(unused(1)), 'utf8')
  const said: string[] = []
  const source: Source = {
    directory,
    key,
    format: 'raw',
    options: { smsp: false, smsc: true, crc: true },
    messages: { warn: (text) => void said.push(text), tell: () => {} },
    signals: { stop: new AbortController().signal, hold },
  }
  return {
    directory,
    path,
    stored,
    said,
    source,
    textOf: (n: number, device: string) => textFor(device, { name: unused(n), stored }),
    use: (text: string) => writeFileSync(path(`__${unused(1)}`), text),
    used: () => readFileSync(path(`__${unused(1)}`), 'utf8'),
    takeOver: () => mkdirSync(path(`.${iccid(1)}.settled`)),
    async take() {
      const { taken } = await takeByIccid(source, iccid(1))
      return taken[0]
    },
  }
}

const LOST = `${iccid(1)} was being claimed by another call, which can't print it any more`

describe('another call has taken the claim over, and is about to print the profile', () => {
  test('it is waited for', async () => {
    const { path, stored, said, use, takeOver, take } = call()
    use(stored)
    takeOver()
    let pauses = 0
    station.meanwhile = () => {
      if (++pauses === 19) rmSync(path(unused(1)))
    }
    expect(await take()).toMatchObject({ isAgain: true })
    expect(said).toEqual([`${iccid(1)} was handed out before: use it only for the same device`])
  })

  test('for a second at most', async () => {
    const { stored, use, takeOver, take } = call()
    use(stored)
    takeOver()
    let pausedMs = 0
    station.meanwhile = (ms) => {
      pausedMs += ms
    }
    await expect(take().catch(adviceOn)).resolves.toMatchObject({
      outcome: 'no-profiles',
      message: `another call is claiming ${iccid(1)}`,
    })
    expect(pausedMs).toBe(1000)
  })
})

test('an unused file beside a complete used one goes', async () => {
  const { directory, stored, use, take } = call()
  use(stored)
  expect(await take()).toMatchObject({ isAgain: true })
  expect(namesIn(directory)).toEqual([`__${unused(1)}`])
})

describe('a claim that names a device', () => {
  test('is that device’s, and the device is named', async () => {
    const { said, textOf, use, used, take } = call()
    use(textOf(1, 'D'))
    expect(await take()).toMatchObject({ isAgain: true, device: 'D' })
    expect(said).toEqual([`${iccid(1)} was handed out before: use it only for device D`])
    expect(JSON.parse(used()).device).toBe('D')
  })

  test('also if it says so only when it is taken over', async () => {
    const one = call(() => one.use(one.textOf(1, 'D')))
    one.use('')
    expect(await one.take()).toMatchObject({ isAgain: true, device: 'D' })
    expect(JSON.parse(one.used()).device).toBe('D')
  })

  test.each([
    ['at once', false],
    ['only when it is taken over', true],
  ])('is nobody’s if the device has another profile; it says so %s', async (_, isLate) => {
    const one = call(() => {
      if (isLate) one.use(one.textOf(1, 'D'))
    })
    const { path, textOf, take, stored, said, used } = one
    mkdirSync(path('.devices'))
    writeFileSync(pathOf(one.directory, 'D', 1), textOf(1, 'D').replaceAll(iccid(1), iccid(2)))
    writeFileSync(path(`__${unused(2)}`), textOf(1, 'D').replaceAll(iccid(1), iccid(2)))
    one.use(isLate ? '' : textOf(1, 'D'))
    const taken = await take()
    expect([taken?.iccid, taken?.device, taken?.isAgain]).toEqual([iccid(1), undefined, undefined])
    expect([said, used(), existsSync(path(unused(1)))]).toEqual([[LOST], stored, false])
  })
})

test('a used file that was renamed back by hand is handed out again, with its device', async () => {
  const { path, textOf, take } = call()
  writeFileSync(path(unused(1)), textOf(1, 'D'))
  expect(await take()).toMatchObject({ isAgain: true, device: 'D' })
})

describe('it says what is wrong:', () => {
  test('the directory is missing', async () => {
    const { source } = call()
    const directory = join(temporaryDirectory(), 'missing')
    await expect(takeByIccid({ ...source, directory }, iccid(1))).rejects.toMatchObject({
      message: `directory ${directory} does not exist`,
    })
  })

  test('the used file is a directory', async () => {
    const { path, take } = call()
    mkdirSync(path(`__${unused(1)}`))
    await expect(take().catch(adviceOn)).resolves.toMatchObject({
      outcome: 'unusable',
      message: `${iccid(1)} can't be handed out: it is not a regular file`,
    })
  })

  test.each([
    ['EIO', /^check the disk, then run the same command again$/],
    ['EACCES', /^give this user permission .*, then run the same command again$/],
  ])('nobody can tell whether the profile is used: %s', async (code, hint) => {
    const { take } = call()
    station.looks = code
    await expect(take().catch(adviceOn)).resolves.toMatchObject({
      outcome: 'disk',
      message: expect.stringContaining(`can't claim ${iccid(1)}: `),
      hint: expect.stringMatching(hint),
    })
  })
})
