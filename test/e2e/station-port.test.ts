/** scripts/stations/station.sh at a terminal, with a device on a serial port. */
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, inject, test } from 'vitest'
import { directoryOf, someProfiles, temporaryDirectory, usedIn } from '../support/directory.ts'
import { softsim, until } from '../support/softsim.ts'
import { serialPort, stationOf } from '../support/station.ts'
import { hasProgram } from '../support/system.ts'

const KEY = inject('keys').privateKeyPath
const CTRL_D = '\u0004'
const canRun = process.platform === 'linux' && hasProgram('script')

describe.skipIf(!canRun)('the stations’ script with a device on a serial port', () => {
  let directory: string
  let station: ReturnType<typeof stationOf>
  const start = (port: string, settings = {}) => station.start({ KEY, ...settings }, port)

  beforeEach(() => {
    directory = directoryOf(someProfiles(5))
    station = stationOf(directory)
  })

  test('sends the profile as one line, and waits for the device’s answer', async () => {
    const answers = ['booting\r\nOK\r\n', 'ERROR: wrong checksum\r\n', 'OK\r\n']
    const device = await serialPort(() => answers.shift() ?? '')
    const run = start(device.port)
    await run.scan('SN-1\n')
    await run.says('Device SN-1 is programmed.')
    await run.scan('SN-2\n')
    await run.says('Device SN-2 answers: ERROR: wrong checksum')
    await run.says('Device SN-2 failed.')
    await run.scan('SN-2\n')
    await run.says('Device SN-2 is programmed.')
    await run.scan(CTRL_D)
    expect(await run.ended).toBe(0)
    const of = async (serial: string) =>
      (await softsim(['next', '-k', KEY, '-i', directory, '--device', serial])).stdout.trimEnd()
    expect(device.received).toEqual([await of('SN-1'), await of('SN-2'), await of('SN-2')])
    expect(station.results()).toEqual(['"SN-1" pass', '"SN-2" fail', '"SN-2" pass'])
  })

  test('what a device said before it got the profile is no answer, and its echo is not shown', async () => {
    const device = await serialPort((profile) => `ERROR ${profile}\r\n`)
    const run = start(device.port)
    await run.scan('')
    await device.says('OK\r\n')
    run.type('SN-1\n')
    await run.says('Device SN-1 answers: ERROR (profile)')
    await run.says('Device SN-1 failed.')
    expect(run.terminal.shown).not.toContain(device.received[0])
  })

  test('a device that does not answer fails after the limit', async () => {
    const device = await serialPort(() => 'hello\r\n')
    const run = start(device.port, { TIMEOUT: '1' })
    await run.scan('SN-1\n')
    await run.says('No answer from device SN-1 (limit: 1 s).')
    await run.says('Device SN-1 failed.')
    await run.asks()
    expect(await run.pressCtrlC()).toBe(130)
    expect(run.terminal.shown).toContain('Device SN-1 is not finished: scan it again.')
  })

  test('Ctrl-C while it waits for the answer: the device is named', async () => {
    const device = await serialPort(() => '')
    const run = start(device.port)
    await run.scan('SN-1\n')
    await until(() => device.received.length > 0)
    expect(await run.pressCtrlC()).toBe(130)
    expect(run.terminal.shown).toContain('Device SN-1 is not finished: scan it again.')
    expect(station.results()).toEqual(['"SN-1" unfinished'])
  })

  test('a port that is missing or is a plain file: it does not start, and creates and changes nothing', async () => {
    const missing = join(temporaryDirectory(), 'ttyUSB0')
    const missed = start(missing)
    expect(await missed.ended).toBe(2)
    expect(missed.terminal.shown).toContain(`${missing} is not a serial port.`)
    expect(existsSync(missing)).toBe(false)
    writeFileSync(missing, 'a file')
    expect(await start(missing).ended).toBe(2)
    expect(readFileSync(missing, 'utf8')).toBe('a file')
    expect(await start('/dev/null').ended).toBe(2)
    expect(usedIn(directory)).toEqual([])
  })

  test('a cable that is pulled out at the prompt: the device waits, and nothing is claimed', async () => {
    const device = await serialPort(() => 'OK\r\n')
    const port = join(temporaryDirectory(), 'ttyUSB0')
    symlinkSync(device.port, port)
    const run = start(port)
    await run.scan('')
    rmSync(port)
    run.type('SN-1\n')
    await run.says('is not a serial port. Check the cable.')
    expect([existsSync(port), usedIn(directory)]).toEqual([false, []])
    symlinkSync(device.port, port)
    await run.scan('SN-1\n')
    await run.says('Device SN-1 is programmed.')
  })
})
