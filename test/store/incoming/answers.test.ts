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

describe('a saved response is abandoned', () => {
  test('when its process is gone', () => {
    expect(isAbandoned(nameOf(NOBODY), 0)).toBe('dead')
    expect(isAbandoned(nameOf(NOBODY, '.0'), 0)).toBe('dead')
    systemSays('ESRCH')
    expect(isAbandoned(nameOf(1), 0)).toBe('dead')
  })

  test('not while its process exists, even as another user', () => {
    expect(isAbandoned(nameOf(process.pid), 0)).toBe(false)
    expect(isAbandoned(nameOf(process.ppid), 0)).toBe(false)
    systemSays('EPERM')
    expect(isAbandoned(nameOf(1), 0)).toBe(false)
  })

  test.each([0, '00', '9'.repeat(20)])('when its process number is %s, which no process has', (pid) => {
    expect(isAbandoned(nameOf(pid), 0)).toBe('dead')
  })

  test('after ten minutes, whoever saved it; the mark of a fetch after a day', () => {
    vi.spyOn(process, 'kill').mockReturnValue(true)
    for (const name of [nameOf(1), ofAnotherMachine()]) {
      expect(isAbandoned(name, 9 * MINUTE_MS)).toBe(false)
      expect(isAbandoned(name, 11 * MINUTE_MS)).toBe('old')
      expect(isAbandoned(name, -11 * MINUTE_MS)).toBe('old')
    }
    expect(isAbandoned(ofAnotherMachine(FETCH_MARK), 23 * HOUR_MS)).toBe(false)
    expect(isAbandoned(ofAnotherMachine(FETCH_MARK), 25 * HOUR_MS)).toBe('old')
  })

  test('when this machine has restarted since then', () => {
    machine.upSeconds = 60
    expect(isAbandoned(nameOf(process.pid), 2 * MINUTE_MS)).toBe('old')
    expect(isAbandoned(nameOf(process.pid), 0)).toBe(false)
  })

  test('not the one of another machine, because this one has restarted', () => {
    machine.upSeconds = 60
    expect(isAbandoned(ofAnotherMachine(), 2 * MINUTE_MS)).toBe(false)
  })

  test.skipIf(process.platform !== 'linux').each([
    ['container', { container: 2 }],
    ['machine', { id: '2' }],
  ])(
    'not the one of another %s with the same name, where process numbers mean something else',
    (_, other) => {
      const own = nameOf(NOBODY)
      expect(isAbandoned(own, 0)).toBe('dead')
      Object.assign(machine, other)
      expect(isAbandoned(own, 0)).toBe(false)
      expect(isAbandoned(own, 11 * MINUTE_MS)).toBe('old')
    },
  )

  test('also if the name of the machine has characters that a file name should not have', () => {
    machine.name = 'line~4/ö'
    expect(isAbandoned(nameOf(NOBODY), 0)).toBe('dead')
  })

  test('never if the name is not one of ours', () => {
    for (const name of ['theirs', `${hostname()}~1~x.answer`, `${nameOf(NOBODY)}.damaged`, ''])
      expect(isAbandoned(name, 100 * HOUR_MS)).toBe(false)
  })
})

test('a saved response is read as it was written', () => {
  const profiles = [
    { iccid: '8988', profile: 'AAAA' },
    { iccid: '8989F', profile: 'BBBB' },
  ]
  expect(parseAnswerFile(formatAnswer(profiles))).toEqual({ profiles, isComplete: true })
  expect(parseAnswerFile(formatAnswer(profiles).slice(0, -2))).toEqual({
    profiles: profiles.slice(0, 1),
    isComplete: false,
  })
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
