/** scripts/stations/softsim-station at a terminal: with a device on a serial port, and with panels of four. */
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { temporaryDirectory, usedIn } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { until } from '../support/softsim.ts'
import { CTRL_D, canRun, isRunning, serialPort, stationWith } from '../support/station.ts'

describe.skipIf(!canRun)('the stations’ script with a device on a serial port', () => {
  let station: ReturnType<typeof stationWith>
  const start = (port?: string, settings = {}) => station.start(settings, ...(port ? [port] : []))

  beforeEach(() => {
    station = stationWith(5)
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
    const lines = await Promise.all(['SN-1', 'SN-2', 'SN-2'].map(station.lineOf))
    expect(device.received).toEqual(lines)
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
    expect(usedIn(station.directory)).toEqual([])
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
    expect([existsSync(port), usedIn(station.directory)]).toEqual([false, []])
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
      `softsim: handed out ${iccid(1)} to device SN-1, now ${station.directory}/__${iccid(1)}.json`,
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
    expect(device.received).toEqual([`'AT+SOFTSIM="${await station.lineOf('SN-1')}"'\r`])
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

const SERIALS = ['SN-1', 'SN-2', 'SN-3', 'SN-4']

type Run = ReturnType<ReturnType<typeof stationWith>['start']>

async function scanAll(run: Run, serials: readonly string[]): Promise<void> {
  for (const serial of serials) {
    await run.scan(`${serial}\n`)
    await until(() => run.terminal.shown.includes('\n'))
  }
}

describe.skipIf(!canRun)('a panel of four', () => {
  let station: ReturnType<typeof stationWith>
  const start = (settings = {}, ...ports: string[]) => station.start(settings, ...ports)

  beforeEach(() => {
    station = stationWith(9)
  })

  test('four ports: each device gets its own line, whatever the others answer', async () => {
    const answers = ['OK\r\n', 'ERROR\r\n', '', 'booting\r\nOK\r\n']
    const devices = await Promise.all(answers.map((answer) => serialPort(() => answer)))
    const run = start({ TIMEOUT: '3' }, ...devices.map(({ port }) => port))
    await scanAll(run, SERIALS)
    await run.says('Device SN-4 is programmed.')
    await run.asks()
    await run.pressCtrlC()
    const actual = devices.map(({ received }) => received)
    expect(actual).toEqual((await Promise.all(SERIALS.map(station.lineOf))).map((line) => [line]))
    expect(station.results()).toEqual(['"SN-1" pass', '"SN-2" fail', '"SN-3" fail', '"SN-4" pass'])
    expect(run.terminal.shown).not.toContain('SN-1')
    for (const serial of ['SN-2', 'SN-3'])
      expect(run.terminal.shown).toContain(`Device ${serial} is not finished`)
  })

  test('a port that is unplugged when the panel is scanned: its device is left out, with its profile', async () => {
    const devices = await Promise.all(SERIALS.map(() => serialPort(() => 'OK\r\n')))
    const ports = devices.map(({ port }) => {
      const link = join(temporaryDirectory(), 'ttyUSB0')
      symlinkSync(port, link)
      return link
    })
    const run = start({}, ...ports)
    await run.asks()
    rmSync(ports[1] ?? '')
    run.type('SN-1\n')
    await scanAll(run, ['SN-2', 'SN-3', 'SN-4'])
    await run.says('Device SN-4 is programmed.')
    expect(run.terminal.shown).toContain(`${ports[1]} is not a serial port. Check the cable.`)
    await run.scan('exit\n')
    await run.ended
    expect(run.terminal.shown).toContain('Device SN-2 was scanned, but not programmed: scan it again.')
    expect(devices.map(({ received }) => received.length)).toEqual([1, 0, 1, 1])
    expect(devices[2]?.received).toEqual([await station.lineOf('SN-3')])
    expect(station.receipts().map(({ device }) => device)).toEqual(['SN-1', 'SN-3', 'SN-4'])
  })

  test.each([
    ['Ctrl-C', (run: Run) => run.pressCtrlC()],
    ['a terminal that is closed', async (run: Run) => run.terminal.close()],
  ])(
    '%s in the middle: what was programmed is recorded, and every other device is unfinished',
    async (_, stop) => {
      station.put('hang-SN-1')
      station.put('hang-SN-4')
      const run = start({ PANEL: '4', TIMEOUT: '600' })
      await scanAll(run, SERIALS)
      await until(() => station.hanging().length === 2 && station.programmed().length === 2)
      await until(() => !station.limits().some(isRunning))
      await stop(run)
      await run.ended
      await until(() => station.results().length === 4)
      const seen = station.results().sort()
      expect(seen).toEqual(['"SN-1" unfinished', '"SN-2" pass', '"SN-3" pass', '"SN-4" unfinished'])
      await until(() => !station.hanging().some(isRunning))
    },
  )

  test('after a label that is refused, what was scanned already is dropped: no device moves to another slot', async () => {
    const run = start({ PANEL: '4' })
    await run.scan('SN-1\nSN-1\nSN-3\nSN-4\n')
    await run.says('Device SN-1 is in this panel already.')
    await scanAll(run, ['SN-2', 'SN-3', 'SN-4'])
    await run.says('Device SN-4 is programmed.')
    await run.pressCtrlC()
    expect(station.slots()).toEqual(['1 SN-1', '2 SN-2', '3 SN-3', '4 SN-4'])
  })

  test('one port under two names: it does not start', async () => {
    const { port } = await serialPort(() => 'OK\r\n')
    const link = join(temporaryDirectory(), 'ttyUSB0')
    symlinkSync(port, link)
    const run = start({}, port, link)
    expect(await run.ended).toBe(2)
    expect(run.terminal.shown).toContain('A port is named twice.')
  })
})
