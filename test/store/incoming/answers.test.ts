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

/** How long this machine has been running. */
const uptime = vi.hoisted(() => ({ seconds: 0 }))

vi.mock('node:os', async (original) => ({
  ...(await original<typeof import('node:os')>()),
  uptime: () => uptime.seconds,
}))

beforeEach(() => {
  vi.restoreAllMocks()
  uptime.seconds = 30 * 24 * 3600
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
    uptime.seconds = 60
    expect(isAbandoned(nameOf(process.pid), 2 * MINUTE_MS)).toBe('old')
    expect(isAbandoned(nameOf(process.pid), 0)).toBe(false)
  })

  test('not the one of another machine, because this one has restarted', () => {
    uptime.seconds = 60
    expect(isAbandoned(ofAnotherMachine(), 2 * MINUTE_MS)).toBe(false)
  })

  test.skipIf(process.platform !== 'linux')(
    'not the one of a container of the same name, whose process numbers mean nothing here',
    () => {
      const own = nameOf(NOBODY)
      const ofContainer = own.replace(/\.[0-9a-f]{8}~/, '.00000000~')
      expect(ofContainer).not.toBe(own)
      expect([isAbandoned(own, 0), isAbandoned(ofContainer, 0)]).toEqual(['dead', false])
      expect(isAbandoned(ofContainer, 11 * MINUTE_MS)).toBe('old')
    },
  )

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
    renameSync(join(directory, INCOMING), join(directory, 'elsewhere'))
    symlinkSync('elsewhere', join(directory, INCOMING), 'dir')
    expect([hasIncoming(directory), countReceived(directory)]).toEqual([false, 0])
  })
})
