/** scripts/stations/softsim-station at a terminal, with a device on a serial port. */
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, inject, test } from 'vitest'
import { directoryOf, someProfiles, temporaryDirectory, usedIn } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { softsim, until } from '../support/softsim.ts'
import { serialPort, stationOf } from '../support/station.ts'
import { hasProgram } from '../support/system.ts'

const KEY = inject('keys').privateKeyPath
const CTRL_D = '\u0004'
const canRun = process.platform === 'linux' && hasProgram('script')

describe.skipIf(!canRun)('the stations’ script with a device on a serial port', () => {
  let directory: string
  let station: ReturnType<typeof stationOf>
  const start = (port?: string, settings = {}) => station.start({ KEY, ...settings }, ...(port ? [port] : []))

  beforeEach(() => {
    directory = directoryOf(someProfiles(5))
    station = stationOf(directory)
  })

  test('sends the profile as one line, and waits for the device’s answer', async () => {
    const answers = ['booting\r\nOK\r\n', 'ERROR: wrong checksum\r\n', 'OK\r\n']
    const device = await serialPort(() => answers.shift() ?? '')
    const run = start(device.port)
    await run.program('SN-1')
    await run.scan('SN-2\n')
    await run.says('Device SN-2 answers: ERROR: wrong checksum')
    await run.says('Device SN-2 failed.')
    await run.program('SN-2')
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
    await run.program('SN-1')
  })

  test.each([
    { LC_ALL: 'C' },
    { LC_ALL: 'C.UTF-8' },
    { LC_ALL: 'C.UTF-8', SERIALS: '^[[:alnum:]._:/#+-]{1,128}$' },
  ])('a serial number has letters of ASCII only: %j', async (settings) => {
    const run = start(undefined, settings)
    for (const serial of ['SNé1', 'SN-١', 'SN 1', 'S'.repeat(129)]) {
      await run.scan(`${serial}\n`)
      await run.says('not a serial number')
    }
    await run.program('SN._:/#+-1')
  })

  test('the log has what the station, softsim and the device say, and no profile', async () => {
    const device = await serialPort((line) => `echo ${line}\r\nOK\r\n`)
    const run = start(device.port, { LOG: station.path('log.txt') })
    await run.program('SN-1')
    await run.scan('SN-1\n')
    await run.says('already programmed')
    run.type('yes\n')
    await run.says('Device SN-1 is programmed.')
    await run.scan('exit\n')
    await run.ended
    const log = station.linesOf('log.txt').map((line) => line.replace(/^[\d:TZ-]+ /, ''))
    expect(log[5]).toMatch(/^Ports: /)
    expect(log.slice(12)).toEqual([
      'WARNING: profiles left: 4. Fetch more.',
      `softsim: warning: device SN-1 already has ${iccid(1)}; printing the same profile again`,
      `softsim: handed out ${iccid(1)} to device SN-1, now ${directory}/__${iccid(1)}.json`,
      expect.stringContaining('unused profiles left'),
      'Device SN-1: echo (profile)',
      'Device SN-1: OK',
      'Device SN-1 is programmed.',
      'WARNING: profiles left: 4. Fetch more.',
      'End of the shift: 2 passed, 0 failed, 1 repeated, 4 profiles left.',
    ])
  })

  test('a frame around the profile ends with CR LF', async () => {
    const device = await serialPort(() => 'OK\r\n')
    const run = start(device.port, { SEND: `'AT+SOFTSIM="%s"'` })
    await run.program('SN-1')
    const { stdout } = await softsim(['next', '-k', KEY, '-i', directory, '--device', 'SN-1'])
    expect(device.received).toEqual([`'AT+SOFTSIM="${stdout.trimEnd()}"'\r`])
  })

  test('a device that says another ICCID than it got fails, also if it says OK', async () => {
    const answers = [
      `OK\r\nICCID: ${iccid(2)}\r\n`,
      `ICCID: ${iccid(1).slice(0, -1)}\r\nOK\r\n`,
      'OK\r\n',
      `OK\r\nICCID: ${iccid(1)}\r\n`,
    ]
    const device = await serialPort(() => answers.shift() ?? '')
    const run = start(device.port, { READ: 'ICCID: ([0-9]+)', TIMEOUT: '2' })
    for (const said of [iccid(2), iccid(1).slice(0, -1)]) {
      await run.scan('SN-1\n')
      await run.says(`Device SN-1 got ${iccid(1)}, but says ${said}: it may have another identity.`)
      await run.says('Device SN-1 failed.')
    }
    await run.scan('SN-1\n')
    await run.says('No answer that names the ICCID from device SN-1 (limit: 2 s).')
    await run.program('SN-1')
  })
})
