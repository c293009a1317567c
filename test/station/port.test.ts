import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fstatSync, openSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openPort, type Port, talk } from '../../src/station/port.ts'
import type { Settings } from '../../src/station/settings.ts'
import { Answer } from '../../src/station/verdict.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { hasProgram } from '../support/system.ts'

/** Where a file of this process leads, by its number; it may be closed by now. */
function leadsTo(file: string): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${file}`)
  } catch {
    return undefined
  }
}

/** More than a terminal takes while nobody reads at its other end. */
const MUCH = 'x'.repeat(100_000)

test.runIf(process.platform === 'linux' && hasProgram('script'))(
  'what a device has not taken goes to no other one, whose port has the same number',
  async () => {
    const words = ['--quiet', '--command', 'tty; exec sleep 600', '/dev/null']
    const terminal = spawn('script', words, { stdio: ['pipe', 'pipe', 'ignore'] })
    try {
      const [name] = await once(terminal.stdout.setEncoding('utf8'), 'data')
      const port = openPort(name.trim(), 115_200)
      terminal.kill('SIGSTOP')
      const writing = port.write(MUCH)
      await sleep(50)
      port.close()
      // The system gives the lowest number that is free.
      const other = openSync(join(temporaryDirectory(), 'other'), 'w')
      await writing
      expect(fstatSync(other).size).toBe(0)
      closeSync(other)
    } finally {
      terminal.kill('SIGKILL')
    }
  },
)

test.runIf(process.platform === 'linux' && hasProgram('script'))(
  'a port has the speed that is asked for, 8 data bits, no parity and no flow control, whatever it had before',
  async () => {
    const before = 'stty 300 crtscts cstopb hupcl -clocal echo icanon; tty; exec sleep 600'
    const words = ['--quiet', '--command', before, '/dev/null']
    const terminal = spawn('script', words, { stdio: ['pipe', 'pipe', 'ignore'] })
    try {
      const [name] = await once(terminal.stdout.setEncoding('utf8'), 'data')
      const port = openPort(name.trim(), 9600)
      const said = execFileSync('stty', ['-F', name.trim(), '-a'], { encoding: 'utf8' })
      const isOpen = () => readdirSync('/proc/self/fd').some((each) => leadsTo(each) === name.trim())
      expect(isOpen()).toBe(true)
      port.close()
      expect(isOpen()).toBe(false)
      const expected = [
        '9600',
        'cs8',
        '-parenb',
        '-cstopb',
        '-crtscts',
        '-hupcl',
        'clocal',
        '-icanon',
        '-echo',
      ]
      const settings = said.split(/[\s;]+/)
      expect(expected.filter((each) => !settings.includes(each))).toEqual([])
    } finally {
      terminal.kill('SIGKILL')
    }
  },
)

test.runIf(process.platform === 'linux')('what is no port is said, with what helps', () => {
  const hint = 'check the cable, and that no other program uses the port'
  const failureOf = (name: string) => {
    try {
      return openPort(name, 9600)
    } catch (error) {
      return error
    }
  }
  expect(failureOf('/dev/ttyUSB99')).toMatchObject({
    ...{ outcome: 'usage', hint },
    message: "can't open the port /dev/ttyUSB99: no such file or directory (ENOENT)",
  })
  expect(failureOf('/dev/null')).toMatchObject({
    ...{ outcome: 'usage', hint },
    message: expect.stringMatching(/^\/dev\/null is no serial port, or refuses its settings: stty: /),
  })
})

test('what a device says before it got the profile is no answer, however much that is', async () => {
  const says = Array.from({ length: 20 }, () => 'OK\n')
  const port: Port = {
    read: async () => says.shift() ?? '',
    write: async () => void says.push('ERROR\n'),
    close() {},
  }
  const expected = { pass: /OK/, fail: /ERROR/, read: undefined } as Settings
  const given = { iccid: '89880000000000000017', line: '', device: 'SN-1', isAgain: false }
  const limits = { timeoutMs: 600_000, stop: new AbortController().signal, hear() {} }
  expect(await talk(port, '', new Answer(expected, given), limits)).toMatchObject({ isPassed: false })
})

test('a port that can not be written is heard of at once', async () => {
  const port: Port = { read: async () => '', write: () => Promise.reject(new Error('EIO')), close() {} }
  const expected = { pass: /OK/, fail: /ERROR/, read: undefined } as Settings
  const given = { iccid: '89880000000000000017', line: '', device: 'SN-1', isAgain: false }
  const limits = { timeoutMs: 60_000, stop: new AbortController().signal, hear() {} }
  await expect(talk(port, '', new Answer(expected, given), limits)).rejects.toThrow('EIO')
})

test('a device that takes nothing fails when its time is over', async () => {
  const port: Port = { read: async () => '', write: () => new Promise(() => {}), close() {} }
  const expected = { pass: /OK/, fail: /ERROR/, read: undefined } as Settings
  const given = { iccid: '89880000000000000017', line: '', device: 'SN-1', isAgain: false }
  const limits = { timeoutMs: 20, stop: new AbortController().signal, hear() {} }
  expect(await talk(port, '', new Answer(expected, given), limits)).toMatchObject({ isPassed: false })
})
