/** Answers that are put aside, and the space for them; also on disks that fail or fill up. */
import * as fs from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { adviceOn } from '../../../src/advice/advice.ts'
import { add, nothingAdded } from '../../../src/store/incoming/add.ts'
import {
  ANSWER,
  countReceived,
  END,
  formatAnswer,
  INCOMING,
  isAbandoned,
  isStoring,
  newName,
  parseAnswerFile,
  putAside,
  removeAnswer,
} from '../../../src/store/incoming/answers.ts'
import { reserve, toReserve } from '../../../src/store/incoming/free-space.ts'
import { openTarget } from '../../../src/store/incoming/target-directory.ts'
import type { StoredProfile } from '../../../src/store/profile-file.ts'
import { namesIn, temporaryDirectory } from '../../support/directory.ts'
import { nameOfGone, nameOfOther, recover } from '../../support/store.ts'
import { hasSymlinks } from '../../support/system.ts'
import { disk, once, systemError } from '../../support/watched-fs.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** This machine: how long it has been running, its name, its number and that of the container. */
const machine = vi.hoisted(() => ({ upSeconds: 0, name: 'line-4', id: '1', container: 1 }))

vi.mock('node:os', async (original) => ({
  ...(await original<typeof import('node:os')>()),
  uptime: () => machine.upSeconds,
  hostname: () => machine.name,
}))

vi.mock('node:fs', async () => {
  const fs = (await import('../../support/watched-fs.ts')).watchedFs
  const changed = {
    statSync: (path: string, ...rest: []) =>
      path === '/proc/self/ns/pid' ? { ino: machine.container } : fs.statSync(path, ...rest),
    readFileSync: (path: string, ...rest: []) =>
      path === '/etc/machine-id' ? machine.id : fs.readFileSync(path, ...rest),
  }
  return { ...fs, ...changed, default: { ...fs, ...changed } }
})

/** How many pauses a call has made. */
const waits = vi.hoisted(() => ({ pauses: 0 }))

vi.mock('node:timers/promises', () => ({
  setTimeout: async () => {
    if (++waits.pauses > 100) throw new Error('it waits without end')
  },
}))

beforeEach(() => {
  vi.restoreAllMocks()
  Object.assign(machine, { upSeconds: 30 * 24 * 3600, name: 'line-4', id: '1', container: 1 })
  waits.pauses = 0
})

/** A name that a process of this machine has given. */
const nameOf = (pid: number | string) => newName().replace(`~${process.pid}~`, `~${pid}~`)

/** As the system answers a process that asks for one of another user, or for one that is gone. */
function systemSays(code: 'EPERM' | 'ESRCH'): void {
  vi.spyOn(process, 'kill').mockImplementation(() => {
    throw Object.assign(new Error(code), { code })
  })
}

/** Whether something is abandoned that is so old. */
function isLeft(name: string, ageMs: number, text = 'an answer'): boolean {
  const directory = temporaryDirectory()
  const path = join(directory, INCOMING, name)
  fs.mkdirSync(join(directory, INCOMING))
  const isAnswer = name.endsWith(ANSWER)
  if (isAnswer) fs.mkdirSync(path)
  fs.writeFileSync(isAnswer ? join(path, 'answer') : path, text)
  const now = Date.now()
  const written = new Date(now - ageMs)
  for (const each of isAnswer ? [join(path, 'answer'), path] : [path]) fs.utimesSync(each, written, written)
  return isAbandoned(directory, name, now)
}

const restarted = { upSeconds: 60 }

/** The name is given before the machine changes. */
test.each<[string, () => string, ms: number, isIt: boolean, Partial<typeof machine>?]>([
  ['of a process that is gone', nameOfGone, 0, true],
  ['a part of it', () => nameOfGone('.0'), 0, true],
  ['of a process that exists', () => nameOf(process.pid), 0, false],
  ['of another one that exists', () => nameOf(process.ppid), 0, false],
  ['of a number that no process has', () => nameOf('00'), 0, true],
  ['of number 0', () => nameOf(0), 0, true],
  ['of a number that is too large', () => nameOf('9'.repeat(20)), 0, true],
  ['of another machine', nameOfOther, 9 * MINUTE_MS, false],
  ['of another machine, and old', nameOfOther, 11 * MINUTE_MS, true],
  ['of another machine, whose clock is ahead', nameOfOther, -11 * MINUTE_MS, true],
  ['rubbish of another machine', () => nameOfOther('.fetch'), 11 * MINUTE_MS, true],
  ['from before a restart', () => nameOf(process.pid), 2 * MINUTE_MS, true, restarted],
  ['after a restart', () => nameOf(process.pid), 0, false, restarted],
  ['of another one, and this one has restarted', nameOfOther, 2 * MINUTE_MS, false, restarted],
  ['with another name', () => 'theirs', 100 * HOUR_MS, false],
  ['with almost one of ours', () => `${hostname()}~1~x.answer`, 100 * HOUR_MS, false],
  ['put aside for a person', () => nameOfGone('.damaged'), 100 * HOUR_MS, false],
])('whether a saved response is abandoned: %s', (_, name, ageMs, isIt, changes = {}) => {
  const given = name()
  Object.assign(machine, changes)
  expect(isLeft(given, ageMs)).toBe(isIt)
})

test('a request of another machine is abandoned when it is a day old', () => {
  expect([23, 25].map((hours) => isLeft(nameOfOther(), hours * HOUR_MS, '\nspace'))).toEqual([false, true])
})

test('an answer that took long to come is as old as what was written last', () => {
  const [directory, name] = [temporaryDirectory(), nameOfOther()]
  const path = join(directory, INCOMING, name)
  fs.mkdirSync(path, { recursive: true })
  fs.writeFileSync(join(path, 'answer'), 'an answer')
  fs.utimesSync(path, 0, 0)
  expect(isAbandoned(directory, name, Date.now())).toBe(false)
})

test('a process of another user exists, and its response is old after ten minutes all the same', () => {
  systemSays('EPERM')
  expect([0, 11 * MINUTE_MS].map((ms) => isLeft(nameOf(1), ms))).toEqual([false, true])
  systemSays('ESRCH')
  expect(isLeft(nameOf(1), 0)).toBe(true)
})

test.skipIf(process.platform !== 'linux').each([
  ['container', { container: 2 }],
  ['machine', { id: '2' }],
])('in another %s with the same name, process numbers mean something else', (_, other) => {
  const own = nameOfGone()
  expect(isLeft(own, 0)).toBe(true)
  Object.assign(machine, other)
  expect([isLeft(own, 0), isLeft(own, 11 * MINUTE_MS)]).toEqual([false, true])
})

test('the name of the machine may have characters that a file name should not have', () => {
  machine.name = 'line~4/ö'
  expect(isLeft(nameOfGone(), 0)).toBe(true)
})

test('a saved response is read as it was written', () => {
  const profiles = [
    { iccid: '8988', profile: 'AAAA' },
    { iccid: '8989F', profile: 'BBBB' },
  ]
  expect(parseAnswerFile(formatAnswer(profiles))).toEqual({ profiles, isComplete: true })
  const torn = formatAnswer(profiles).slice(0, -2)
  expect(parseAnswerFile(torn)).toEqual({ profiles: profiles.slice(0, 1), isComplete: false })
  expect(parseAnswerFile(`\n${formatAnswer(profiles)}`)).toEqual({ profiles, isComplete: false })
  expect(parseAnswerFile('')).toEqual({ profiles: [], isComplete: true })
})

test('a line after the end of an answer makes it a damaged one', () => {
  const answer = formatAnswer([{ iccid: '8988', profile: 'AAAA' }])
  expect(parseAnswerFile(`${answer}\nwhat is left of the reserve`).isComplete).toBe(true)
  expect(parseAnswerFile(`${answer}\nanother line\n`).isComplete).toBe(false)
})

describe('what is put aside in a directory', () => {
  const answer = formatAnswer([1, 2].map((n) => ({ iccid: `8988${n}`, profile: 'AAAA' })))

  /** A directory in whose place for answers there is one file. */
  function having(name: string): string {
    const directory = temporaryDirectory()
    fs.mkdirSync(join(directory, INCOMING))
    fs.writeFileSync(join(directory, INCOMING, name), answer)
    return directory
  }

  test.each([
    ['x.answer', true, 2],
    ['x.0', false, 0],
    ['x.reserve', true, 2],
    ['x.fetch', false, 0],
    ['x.damaged', false, 0],
  ])('%s: there is something to store: %s; profiles received: %i', (name, isThere, count) => {
    const directory = having(name)
    expect([isStoring(directory), countReceived(directory)]).toEqual([isThere, count])
  })

  test.skipIf(!hasSymlinks)('is not what a link leads to', () => {
    const directory = having('x.answer')
    fs.symlinkSync('x.answer', join(directory, INCOMING, 'y.answer'))
    expect(countReceived(directory)).toBe(2)
    fs.renameSync(join(directory, INCOMING), join(directory, 'elsewhere'))
    fs.symlinkSync('elsewhere', join(directory, INCOMING), 'dir')
    expect([isStoring(directory), countReceived(directory)]).toEqual([false, 0])
  })
})

const profiles = (count: number, length = 684): StoredProfile[] =>
  Array.from({ length: count }, (_, n) => ({ iccid: `8988${n}`, profile: 'A'.repeat(length) }))

async function place() {
  const directory = temporaryDirectory()
  const target = await openTarget(directory)
  const incoming = join(directory, INCOMING)
  return { directory, target, incoming, inside: () => fs.readdirSync(incoming) }
}

test('reserves as much space as the response will need, and releases it', async () => {
  const { target, incoming, inside } = await place()
  const aside = await reserve(target, 100)
  expect(inside()).toEqual([aside])
  const { size, blocks } = fs.statSync(join(incoming, aside, 'answer'))
  expect(size).toBeGreaterThan(Buffer.byteLength(formatAnswer(profiles(100))))
  // Where the system tells: it is no hole in a file.
  if (blocks > 0) expect(blocks * 512).toBeGreaterThanOrEqual(size)
  removeAnswer(target, aside)
  expect(inside()).toEqual([])
})

const ANSWERS = { smaller: profiles(3), larger: profiles(3, 5000) }

test.each(Object.entries(ANSWERS))('a response %s than the reserve is written over it', async (_, answer) => {
  const { target, incoming, inside } = await place()
  const aside = await reserve(target, 3)
  const { ino } = fs.statSync(join(incoming, aside, 'answer'))
  await putAside(target, aside, answer)
  expect(inside()).toEqual([aside])
  expect(fs.statSync(join(incoming, aside, 'answer')).ino).toBe(ino)
  expect(fs.readFileSync(join(incoming, aside, 'answer'), 'utf8')).toBe(formatAnswer(answer))
})

test.each<[string, (incoming: string, aside: string) => void]>([
  ['is gone', (incoming, aside) => fs.rmSync(join(incoming, aside), { recursive: true })],
  ['is gone with all of .incoming', (incoming) => fs.rmSync(incoming, { recursive: true })],
  [
    'can’t be removed',
    (incoming, aside) => {
      fs.rmSync(join(incoming, aside, 'answer'))
      fs.mkdirSync(join(incoming, aside, 'answer', 'theirs'), { recursive: true })
    },
  ],
])('the reserve %s: the response is written to a new file, or it is reported', async (what, spoil) => {
  const { directory, target, incoming } = await place()
  const aside = await reserve(target, 2)
  spoil(incoming, aside)
  const added = nothingAdded()
  if (what.startsWith('can')) {
    // Nothing can be written there at all: it is told, and nothing of it is left.
    await expect(add(target, aside, profiles(2), added)).rejects.toMatchObject({ facts: { kind: 'lost' } })
    return
  }
  await add(target, aside, profiles(2), added)
  expect(added.stored).toHaveLength(2)
  expect(namesIn(directory)).toEqual(['89880.json', '89881.json'])
})

test('an empty response releases the space', async () => {
  const { target, inside } = await place()
  const aside = await reserve(target, 2)
  await add(target, aside, [], nothingAdded())
  expect(inside()).toEqual([])
})

test('the reserve of a killed fetch is removed; a partly written response is found', async () => {
  const { directory, incoming } = await place()
  const [unused, begun] = [nameOfGone(), nameOfGone()]
  const room = toReserve(9000)
  for (const each of [unused, begun]) {
    fs.mkdirSync(join(incoming, each))
    fs.writeFileSync(join(incoming, each, 'answer'), room)
  }
  // Those of version 1.1 are files.
  for (const ending of ['.reserve', '.answer', '.fetch', '.0'])
    fs.writeFileSync(join(incoming, nameOfGone(ending)), ending.length > 6 ? room : '')
  const file = fs.openSync(join(incoming, begun, 'answer'), 'r+')
  fs.writeSync(file, formatAnswer(profiles(2)) + END)
  fs.closeSync(file)
  expect(await recover(directory)).toEqual({ stored: ['89880', '89881'], known: [], damaged: [] })
  expect(fs.readdirSync(incoming)).toEqual([])
})

/** What a power cut may leave of an answer that was being written over its reserve: each sector the old or the new one. */
function torn(answer: string, isNew: readonly boolean[], sector: number): string {
  const text = Buffer.from(answer + END)
  const room = toReserve(text.length * 2)
  const written = Buffer.concat([text, room.subarray(text.length)])
  for (let at = 0; at < room.length; at += sector) {
    if (!isNew[(at / sector) % isNew.length]) room.copy(written, at, at, at + sector)
  }
  return written.toString('utf8')
}

test('a partly written response never counts as complete, and no profile is invented', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 12 }),
      fc.constantFrom(512, 4096),
      (count, isNew, sector) => {
        const answer = profiles(count)
        const { profiles: found, isComplete } = parseAnswerFile(torn(formatAnswer(answer), isNew, sector))
        expect(answer).toEqual(expect.arrayContaining(found))
        // Whole, or as if nothing had been written at all.
        if (isComplete) expect([0, count]).toContain(found.length)
        if (isComplete && found.length === 0) expect(isNew[0]).toBe(false)
        if (isNew.every(Boolean)) expect([isComplete, found.length]).toEqual([true, count])
      },
    ),
    { numRuns: 500 },
  )
})

test('a call that another one took for dead meanwhile puts its response aside anew', async () => {
  const { target, incoming, inside } = await place()
  const aside = await reserve(target, 2)
  once('after', 'open r+', 'answer', () => fs.renameSync(join(incoming, aside), join(incoming, 'taken')))
  await putAside(target, aside, profiles(2)).catch(() => {})
  fs.rmSync(join(incoming, 'taken'), { recursive: true, force: true })
  expect(inside()).toEqual([aside])
  expect(fs.readFileSync(join(incoming, aside, 'answer'), 'utf8')).toBe(formatAnswer(profiles(2)))
})

/** Puts an answer aside over its reserve; the writes of it end with these errors. What is then there is returned, too. */
async function putAsideOn(errors: string[]) {
  const { target, incoming, inside } = await place()
  const aside = await reserve(target, 2)
  failWrites(errors)
  const error = await putAside(target, aside, profiles(2)).then(
    () => undefined,
    ({ code }) => code,
  )
  const texts = inside().map((name) => fs.readFileSync(join(incoming, name, 'answer'), 'utf8'))
  return { error, texts, pauses: waits.pauses }
}

/** Each of the next writes is done, and reported as an error. */
function failWrites(errors: string[]): void {
  disk.after = (call) => {
    const code = call === 'write' ? errors.shift() : undefined
    if (code !== undefined) throw systemError(code)
  }
}

const WHOLE = [formatAnswer(profiles(2))]
const times = (count: number, error: string) => Array<string>(count).fill(error)

test.each([
  ['EIO', 1, 0],
  ['ENOSPC', 1, 0],
  // The space of the removed reserve may be there later.
  ['ENOSPC', 5, 4],
  ['EDQUOT', 5, 4],
])(
  '%s, %i times: the reserve is removed, and the answer written to a new file',
  async (code, count, pauses) => {
    expect(await putAsideOn(times(count, code))).toEqual({ error: undefined, texts: WHOLE, pauses })
  },
)

test.each(Object.entries({ ENOSPC: 4, EDQUOT: 4, EIO: 0 }))(
  '%s: it gives up after %i pauses',
  async (error, pauses) => {
    expect(await putAsideOn(times(1000, error))).toEqual({ error, texts: [], pauses })
  },
)

test.each([
  ['ENOSPC', /^free disk space; this batch of 2 profiles was not requested$/],
  ['EIO', /^free disk space or repair the disk; this batch of 2 profiles was not requested$/],
])('%s: no space can be reserved, and nothing of it is left', async (code, hint) => {
  const { target, inside } = await place()
  failWrites([code])
  const seen = reserve(target, 2).catch(adviceOn)
  await expect(seen).resolves.toMatchObject({ outcome: 'disk', hint: expect.stringMatching(hint) })
  expect(inside()).toEqual([])
})
