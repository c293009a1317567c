import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import {
  ANSWER,
  countReceived,
  FETCH_MARK,
  formatAnswer,
  hasIncoming,
  INCOMING,
  isAbandoned,
  newAnswerName,
  parseAnswerFile,
} from '../../../src/store/incoming/answers.ts'
import { temporaryDirectory } from '../../support/directory.ts'
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
const nameOf = (pid: number | string, ending = ANSWER) =>
  newAnswerName().replace(`~${process.pid}~`, `~${pid}~`) + ending

const ofAnotherMachine = (ending = ANSWER) =>
  `elsewhere${newAnswerName().slice(newAnswerName().indexOf('~'))}${ending}`

/** As the system answers a process that asks for one of another user, or for one that is gone. */
function systemSays(code: 'EPERM' | 'ESRCH'): void {
  vi.spyOn(process, 'kill').mockImplementation(() => {
    throw Object.assign(new Error(code), { code })
  })
}

const restarted = { upSeconds: 60 }

/** The name is given before the machine changes. */
test.each<[string, () => string, ms: number, why: ReturnType<typeof isAbandoned>, Partial<typeof machine>?]>([
  ['of a process that is gone', () => nameOf(NOBODY), 0, 'dead'],
  ['a part of it', () => nameOf(NOBODY, '.0'), 0, 'dead'],
  ['of a process that exists', () => nameOf(process.pid), 0, false],
  ['of another one that exists', () => nameOf(process.ppid), 0, false],
  ['of a number that no process has', () => nameOf('00'), 0, 'dead'],
  ['of number 0', () => nameOf(0), 0, 'dead'],
  ['of a number that is too large', () => nameOf('9'.repeat(20)), 0, 'dead'],
  ['of another machine', () => ofAnotherMachine(), 9 * MINUTE_MS, false],
  ['of another machine, and old', () => ofAnotherMachine(), 11 * MINUTE_MS, 'old'],
  ['of another machine, whose clock is ahead', () => ofAnotherMachine(), -11 * MINUTE_MS, 'old'],
  ['the mark of a fetch', () => ofAnotherMachine(FETCH_MARK), 23 * HOUR_MS, false],
  ['the mark of a fetch, a day old', () => ofAnotherMachine(FETCH_MARK), 25 * HOUR_MS, 'old'],
  ['from before a restart', () => nameOf(process.pid), 2 * MINUTE_MS, 'old', restarted],
  ['after a restart', () => nameOf(process.pid), 0, false, restarted],
  ['of another one, and this one has restarted', () => ofAnotherMachine(), 2 * MINUTE_MS, false, restarted],
  ['with another name', () => 'theirs', 100 * HOUR_MS, false],
  ['with almost one of ours', () => `${hostname()}~1~x.answer`, 100 * HOUR_MS, false],
  ['put aside for a person', () => `${nameOf(NOBODY)}.damaged`, 100 * HOUR_MS, false],
])('whether a saved response is abandoned: %s', (_, name, ageMs, why, changes = {}) => {
  const given = name()
  Object.assign(machine, changes)
  expect(isAbandoned(given, ageMs)).toBe(why)
})

test('a process of another user exists, and its response is old after ten minutes all the same', () => {
  systemSays('EPERM')
  expect([0, 11 * MINUTE_MS].map((ms) => isAbandoned(nameOf(1), ms))).toEqual([false, 'old'])
  systemSays('ESRCH')
  expect(isAbandoned(nameOf(1), 0)).toBe('dead')
})

test.skipIf(process.platform !== 'linux').each([
  ['container', { container: 2 }],
  ['machine', { id: '2' }],
])('in another %s with the same name, process numbers mean something else', (_, other) => {
  const own = nameOf(NOBODY)
  expect(isAbandoned(own, 0)).toBe('dead')
  Object.assign(machine, other)
  expect([isAbandoned(own, 0), isAbandoned(own, 11 * MINUTE_MS)]).toEqual([false, 'old'])
})

test('the name of the machine may have characters that a file name should not have', () => {
  machine.name = 'line~4/ö'
  expect(isAbandoned(nameOf(NOBODY), 0)).toBe('dead')
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
    ['x.0', true, 0],
    ['x.reserve', false, 0],
    ['x.fetch', false, 0],
    ['x.damaged', false, 0],
  ])('%s: there is something to store: %s; profiles received: %i', (name, isThere, count) => {
    const directory = having(name)
    expect([hasIncoming(directory), countReceived(directory)]).toEqual([isThere, count])
  })

  test.skipIf(!hasSymlinks)('is not what a link leads to', () => {
    const directory = having('x.answer')
    symlinkSync('x.answer', join(directory, INCOMING, 'y.answer'))
    expect(countReceived(directory)).toBe(2)
    renameSync(join(directory, INCOMING), join(directory, 'elsewhere'))
    symlinkSync('elsewhere', join(directory, INCOMING), 'dir')
    expect([hasIncoming(directory), countReceived(directory)]).toEqual([false, 0])
  })
})
