import * as fs from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { adviceOn } from '../../../src/advice/advice.ts'
import { formatAnswer, INCOMING } from '../../../src/store/incoming/answers.ts'
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

test('two recoveries of the same response store it once', async () => {
  const directory = interrupted(several(100))
  const results = await Promise.all([recover(directory), recover(directory)])
  expect(results.flatMap((result) => result?.stored ?? [])).toHaveLength(100)
  expect(namesIn(directory)).toHaveLength(100)
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
