import * as fs from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { adviceOn } from '../../../src/advice/advice.ts'
import {
  answerPath,
  formatAnswer,
  INCOMING,
  incomingPath,
  newName,
} from '../../../src/store/incoming/answers.ts'
import { BYTES_RESERVED, toReserve } from '../../../src/store/incoming/free-space.ts'
import { findUnanswered, warnOfUnanswered } from '../../../src/store/incoming/recover.ts'
import type { StoredProfile } from '../../../src/store/profile-file.ts'
import { FreeList } from '../../../src/store/queue.ts'
import { namesIn, temporaryDirectory } from '../../support/directory.ts'
import {
  directoryWith,
  jsonIn,
  nameOfGone,
  nameOfOther,
  profile,
  recover,
  several,
} from '../../support/store.ts'
import { hasPosix, hasSymlinks } from '../../support/system.ts'
import { disk, fail, systemError } from '../../support/watched-fs.ts'

const HOUR_MS = 3_600_000

/** What happens in each pause. */
const machine = vi.hoisted(() => ({ pause: (_ms: number) => {} }))

vi.mock('node:timers/promises', () => ({ setTimeout: async (ms: number) => machine.pause(ms) }))
vi.mock('node:fs', async () => (await import('../../support/watched-fs.ts')).watchedFs)

afterEach(() => {
  machine.pause = () => {}
})

const incoming = (directory: string) => fs.readdirSync(join(directory, INCOMING))
const modeOf = (directory: string, name: string) => fs.statSync(join(directory, INCOMING, name)).mode & 0o777

/** A directory in which a call was killed after it had put an answer aside. */
const interrupted = (profiles: readonly StoredProfile[], name = nameOfGone()) =>
  directoryWith({ [`${INCOMING}/${name}/answer`]: formatAnswer(profiles) })

test('the contents of an empty used file are stored beside it, and the profile counts as used', async () => {
  const directory = interrupted(several(2))
  fs.writeFileSync(join(directory, '__89880.json'), '')
  await recover(directory)
  expect(namesIn(directory)).toEqual(['89880.json', '89881.json', '__89880.json'])
  expect(jsonIn(directory, '89880.json')).toEqual(profile(0))
})

test('a directory with the name of a saved response is left alone', async () => {
  const directory = temporaryDirectory()
  fs.mkdirSync(join(directory, INCOMING, nameOfGone()), { recursive: true })
  expect(await recover(directory)).toEqual({ stored: [], known: [], damaged: [] })
})

test('the next call reads the directory: a list of unused profiles from before would leave out the new ones', async () => {
  const directory = interrupted(several(1))
  FreeList.write(directory, [])
  await recover(directory)
  expect(FreeList.open(directory)).toBeUndefined()
})

test.skipIf(!hasPosix)('what stays is for the users of the directory', async () => {
  const directory = temporaryDirectory()
  fs.mkdirSync(join(directory, INCOMING))
  fs.chmodSync(directory, 0o770)
  process.umask(0)
  fs.writeFileSync(join(directory, INCOMING, nameOfGone()), '{', { mode: 0o660 })
  // Its own copy is what the next call finds if this one is killed.
  let copy = 0
  disk.before = (call) => {
    if (call === 'unlink' && copy === 0)
      copy = Math.min(...incoming(directory).map((name) => modeOf(directory, name)))
  }
  const [damaged = ''] = (await recover(directory)).damaged
  expect(copy).toBe(0o660)
  expect(fs.lstatSync(damaged).mode & 0o777).toBe(0o660)
})

describe('what another machine saved, old by the clock of this one', () => {
  /** Two saved responses: one is of a process that is gone, the other one seems to be an hour old. */
  function twoSaved() {
    const directory = interrupted(several(1))
    const other = nameOfOther()
    const path = join(directory, INCOMING, other)
    fs.writeFileSync(path, formatAnswer([profile(7)]))
    return { directory, other, path }
  }

  test('is left alone if the clock of the disk is an hour behind', async () => {
    const { directory, other } = twoSaved()
    disk.clockMs = -HOUR_MS
    expect((await recover(directory)).stored).toEqual(['89880'])
    expect(incoming(directory)).toEqual([other])
  })

  test('is left alone if it is written to within a second', async () => {
    const { directory, other, path } = twoSaved()
    const anHourAgo = new Date(Date.now() - HOUR_MS)
    fs.utimesSync(path, anHourAgo, anHourAgo)
    machine.pause = (ms) => {
      if (ms === 1000) fs.utimesSync(path, new Date(), new Date())
    }
    expect((await recover(directory)).stored).toEqual(['89880'])
    expect(incoming(directory)).toEqual([other])
  })
})

describe('a disk error', () => {
  const AT = { readdir: /\.incoming$/, readFile: /answer$/, rename: /\.fetch$/ }
  test.each(Object.entries(AT))(
    '%s: exit code 9, and the response stays as it is, once',
    async (call, ending) => {
      const directory = interrupted(several(2))
      const before = incoming(directory)
      fail(RegExp(call), ending)
      await expect(recover(directory).catch(adviceOn)).resolves.toMatchObject({
        outcome: 'disk',
        message:
          "can't store what an interrupted call received: the disk reports an input/output error (EIO)",
        hint: expect.stringContaining('the profiles are kept there'),
      })
      disk.before = () => {}
      expect(incoming(directory)).toEqual(before)
      expect((await recover(directory)).stored).toHaveLength(2)
    },
  )

  test('while the profiles get their names: it says how many are put aside', async () => {
    const directory = interrupted(several(3))
    fail(/^open/, /[\\/]1$/, 'ENOSPC')
    const error = await recover(directory).catch((error) => error)
    expect(error).toMatchObject({ facts: { kind: 'put-aside' } })
    expect(adviceOn(error).outcome).toBe('disk')
    expect(incoming(directory)).toEqual([expect.stringMatching(/\.answer$/)])
  })
})

test('a call that was paused for long writes its answer before that is taken away: all of it is kept first', async () => {
  const directory = interrupted(several(1))
  const theirs = join(directory, INCOMING, incoming(directory)[0] ?? '', 'answer')
  const all = formatAnswer(several(2))
  disk.before = (call, path) => {
    if (call === 'rename' && path.endsWith('.fetch')) fs.writeFileSync(theirs, all)
    if (call === 'rename' && path.endsWith('89881.json')) throw systemError('EIO')
  }
  await expect(recover(directory)).rejects.toMatchObject({ facts: { kind: 'put-aside' } })
  const [kept = ''] = incoming(directory)
  expect(fs.readFileSync(join(directory, INCOMING, kept, 'answer'), 'utf8')).toBe(all)
})

test('another call has removed the place meanwhile: there is nothing to do', async () => {
  const directory = interrupted(several(1))
  fail(/^readdir$/, /\.incoming$/, 'ENOENT')
  expect(await recover(directory)).toEqual({ stored: [], known: [], damaged: [] })
})

test.skipIf(!hasSymlinks)('a link in the place of saved responses is not followed', async () => {
  const directory = interrupted(several(1))
  const elsewhere = join(temporaryDirectory(), 'elsewhere')
  fs.renameSync(join(directory, INCOMING), elsewhere)
  fs.symlinkSync(elsewhere, join(directory, INCOMING), 'dir')
  expect(await recover(directory)).toEqual({ stored: [], known: [], damaged: [] })
  expect(fs.readdirSync(elsewhere)).toHaveLength(1)
})

describe('what was requested, and not answered', () => {
  const NOON = Date.parse('2026-11-23T12:00:00Z')

  let directory = ''
  beforeEach(() => {
    directory = temporaryDirectory()
    fs.mkdirSync(join(directory, INCOMING))
  })

  function leave(name: string, bytes: string | Uint8Array, ms = NOON): void {
    fs.mkdirSync(incomingPath(directory, name))
    fs.writeFileSync(answerPath(directory, name), bytes)
    for (const path of [answerPath(directory, name), incomingPath(directory, name)])
      fs.utimesSync(path, ms / 1000, ms / 1000)
  }

  const room = (profiles: number) => toReserve(profiles * BYTES_RESERVED)
  const found = () => {
    const { profiles, firstMs, lastMs } = findUnanswered(directory) ?? {}
    return profiles === undefined ? undefined : [profiles, firstMs, lastMs]
  }

  test('what killed calls had requested, and when, is known from their reserves until a call removes them', async () => {
    leave(nameOfGone(), room(100))
    leave(nameOfGone(), room(1), NOON + 1500)
    expect(found()).toEqual([101, NOON, NOON + 1500])
    const told: unknown[] = []
    await recover(directory, (text) => told.push([text.slice(0, 18), found()?.[0]]))
    expect([told, found()]).toEqual([[['up to 101 profiles', 101]], undefined])
  })

  test.each([[[0, 0]], [[99.5, 0]]])(
    'a reserve that is not whole: nothing was requested',
    ([profiles = 0]) => {
      leave(nameOfGone(), new Uint8Array(1 + profiles * BYTES_RESERVED))
      expect(found()).toBeUndefined()
    },
  )

  test('a call that lives has requested nothing in vain; another machine’s, when it is a day old', () => {
    leave(newName(), room(3), Date.now())
    leave(nameOfOther(), room(3), Date.now() - HOUR_MS)
    expect(found()).toBeUndefined()
    leave(nameOfOther(), room(4), Date.now() - 25 * HOUR_MS)
    expect(found()?.[0]).toBe(4)
  })

  test('an answer of which nothing is written yet is a request; any other is none', () => {
    leave(nameOfGone(), room(5))
    leave(nameOfGone(), formatAnswer([{ iccid: '8988', profile: 'AAAA' }]))
    // As version 1.1 left them.
    fs.writeFileSync(incomingPath(directory, nameOfGone()), room(6))
    fs.writeFileSync(incomingPath(directory, nameOfGone('.reserve')), room(7))
    expect(found()?.[0]).toBe(18)
  })

  test('nothing is there, or nothing is known', () => {
    expect(findUnanswered(join(directory, 'nowhere'))).toBeUndefined()
    leave('theirs.answer', room(5))
    expect(found()).toBeUndefined()
  })

  test.each([
    [1, NOON, '1 profile', 'at 2026-11-23T12:00:00.000Z'],
    [200, NOON + 250, '200 profiles', 'from 2026-11-23T12:00:00.000Z to 2026-11-23T12:00:00.250Z'],
  ])('says so: %i', (profiles, lastMs, what, when) => {
    const said: unknown[] = []
    const messages = { warn: (...all: unknown[]) => said.push(all), tell() {} }
    warnOfUnanswered({ directory: 'D', profiles, firstMs: NOON, lastMs }, messages)
    const text = `up to ${what} may have been allocated and not stored in D: a fetch was interrupted that had requested them ${when}`
    expect(said).toEqual([[text, 'unanswered']])
  })
})
