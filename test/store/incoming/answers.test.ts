import { mkdirSync, renameSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import {
  ANSWER,
  countReceived,
  formatAnswer,
  INCOMING,
  isAbandoned,
  isStoring,
  newName,
  parseAnswerFile,
} from '../../../src/store/incoming/answers.ts'
import { temporaryDirectory } from '../../support/directory.ts'
import { nameOfOther } from '../../support/store.ts'
import { hasSymlinks } from '../../support/system.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** This machine: how long it has been running, its name, its number and that of the container. */
const machine = vi.hoisted(() => ({ upSeconds: 0, name: 'line-4', id: '1', container: 1 }))

vi.mock('node:os', async (original) => ({
  ...(await original<typeof import('node:os')>()),
  uptime: () => machine.upSeconds,
  hostname: () => machine.name,
}))

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const changed = {
    statSync: (path: string, ...rest: []) =>
      path === '/proc/self/ns/pid' ? { ino: machine.container } : fs.statSync(path, ...rest),
    readFileSync: (path: string, ...rest: []) =>
      path === '/etc/machine-id' ? machine.id : fs.readFileSync(path, ...rest),
  }
  return { ...fs, ...changed, default: { ...fs, ...changed } }
})

beforeEach(() => {
  vi.restoreAllMocks()
  Object.assign(machine, { upSeconds: 30 * 24 * 3600, name: 'line-4', id: '1', container: 1 })
})

/** More than any system gives. */
const NOBODY = 4_194_999

/** A name that a process of this machine has given. */
const nameOf = (pid: number | string, ending?: string) =>
  newName(ending).replace(`~${process.pid}~`, `~${pid}~`)

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
  mkdirSync(join(directory, INCOMING))
  const isAnswer = name.endsWith(ANSWER)
  if (isAnswer) mkdirSync(path)
  writeFileSync(isAnswer ? join(path, 'answer') : path, text)
  const now = Date.now()
  const written = new Date(now - ageMs)
  for (const each of isAnswer ? [join(path, 'answer'), path] : [path]) utimesSync(each, written, written)
  return isAbandoned(directory, name, now)
}

const restarted = { upSeconds: 60 }

/** The name is given before the machine changes. */
test.each<[string, () => string, ms: number, isIt: boolean, Partial<typeof machine>?]>([
  ['of a process that is gone', () => nameOf(NOBODY), 0, true],
  ['a part of it', () => nameOf(NOBODY, '.0'), 0, true],
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
  ['put aside for a person', () => nameOf(NOBODY, '.damaged'), 100 * HOUR_MS, false],
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
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, 'answer'), 'an answer')
  utimesSync(path, 0, 0)
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
  const own = nameOf(NOBODY)
  expect(isLeft(own, 0)).toBe(true)
  Object.assign(machine, other)
  expect([isLeft(own, 0), isLeft(own, 11 * MINUTE_MS)]).toEqual([false, true])
})

test('the name of the machine may have characters that a file name should not have', () => {
  machine.name = 'line~4/ö'
  expect(isLeft(nameOf(NOBODY), 0)).toBe(true)
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
    mkdirSync(join(directory, INCOMING))
    writeFileSync(join(directory, INCOMING, name), answer)
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
    symlinkSync('x.answer', join(directory, INCOMING, 'y.answer'))
    expect(countReceived(directory)).toBe(2)
    renameSync(join(directory, INCOMING), join(directory, 'elsewhere'))
    symlinkSync('elsewhere', join(directory, INCOMING), 'dir')
    expect([isStoring(directory), countReceived(directory)]).toEqual([false, 0])
  })
})
