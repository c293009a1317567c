/** scripts/stations/station.sh at a terminal: what it records, shows, sends and reads. */
import { rmSync } from 'node:fs'
import { hostname } from 'node:os'
import { beforeEach, describe, expect, inject, test } from 'vitest'
import { directoryOf, someProfiles, usedIn } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { softsim } from '../support/softsim.ts'
import { serialPort, stationOf } from '../support/station.ts'
import { hasProgram } from '../support/system.ts'

const KEY = inject('keys').privateKeyPath
const READ = 'ICCID: ([0-9]+)'
const canRun = process.platform === 'linux' && hasProgram('script')

describe.skipIf(!canRun)('the stations’ script', () => {
  let directory: string
  let station: ReturnType<typeof stationOf>
  const start = (settings = {}, ...ports: string[]) => station.start({ KEY, ...settings }, ...ports)

  beforeEach(() => {
    directory = directoryOf(someProfiles(5))
    station = stationOf(directory)
  })

  test('the results: one header, the time in UTC, and each line on its own after a power cut', async () => {
    for (const serial of ['SN-1', 'SN-2']) {
      const run = start({ TZ: 'Asia/Tokyo' })
      await run.scan(`${serial}\n`)
      await run.says(`Device ${serial} is programmed.`)
      await run.scan('exit\n')
      expect(await run.ended).toBe(0)
    }
    const lines = station.linesOf('results.csv')
    expect(lines[0]).toBe('time,station,device,result')
    expect(lines.slice(1).map((line) => line.split(',').slice(1).join())).toEqual([
      `${hostname()},"SN-1",pass`,
      `${hostname()},"SN-2",pass`,
    ])
    for (const line of lines.slice(1)) {
      const [time = ''] = line.split(',')
      expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      expect(Math.abs(Date.parse(time) - Date.now())).toBeLessThan(3_600_000)
    }
    station.put('results.csv', 'time,station,device,result\n2026-11-22T18:00:00Z,lin')
    const run = start()
    await run.scan('SN-3\n')
    await run.says('Device SN-3 is programmed.')
    await run.pressCtrlC()
    expect(station.linesOf('results.csv')[2]).toMatch(/,"SN-3",pass$/)
  })

  test.each([
    { LC_ALL: 'C' },
    { LC_ALL: 'C.UTF-8' },
    { LC_ALL: 'C.UTF-8', SERIALS: '^[[:alnum:]._:/#+-]{1,128}$' },
  ])('a serial number has letters of ASCII only: %j', async (settings) => {
    const run = start(settings)
    for (const serial of ['SNé1', 'SN-١', 'SN 1', 'S'.repeat(129)]) {
      await run.scan(`${serial}\n`)
      await run.says('not a serial number')
    }
    await run.scan('SN._:/#+-1\n')
    await run.says('Device SN._:/#+-1 is programmed.')
  })

  test.each([
    [{}, 'EXIT'],
    [{ PANEL: '2' }, 'Exit'],
  ])('%j: words are not serial numbers, in any case, and %s ends the shift', async (settings, exit) => {
    const run = start(settings)
    for (const word of ['yes', 'NO', 'Quit', 'help', ...('PANEL' in settings ? [] : ['skip', 'SKIP'])]) {
      await run.scan(`${word}\n`)
      await run.says(`${word} is not a serial number. To end the shift, type exit.`)
    }
    if ('PANEL' in settings) await run.scan('Skip\n')
    await run.scan(`${exit}\n`)
    expect(await run.ended).toBe(0)
    expect([station.receipts(), usedIn(directory)]).toEqual([[], []])
  })

  test.each(['PANEL', 'BAUD', 'TIMEOUT', 'LOW_STOCK'])(
    '%s that is not a number is named',
    async (setting) => {
      const run = start({ [setting]: 'x' })
      expect(await run.ended).toBe(2)
      expect(run.terminal.shown).toContain(`${setting}=x is not a number.`)
    },
  )

  test('it says what is left, warns below the limit, and reports the shift', async () => {
    const run = start({ LOW_STOCK: '3' })
    await run.says('Profiles left: 5')
    station.put('fail-SN-2')
    for (const [serial, left] of [
      ['SN-1', '\nProfiles left: 4'],
      ['SN-2', 'WARNING: profiles left: 3. Fetch more.'],
      ['SN-2', 'WARNING: profiles left: 3. Fetch more.'],
    ]) {
      await run.scan(`${serial}\n`)
      await run.says(`${left}`)
    }
    await run.scan('exit\n')
    expect(await run.ended).toBe(0)
    expect(run.terminal.shown).toContain(
      'End of the shift: 1 passed, 2 failed, 1 repeated, 3 profiles left.\r\nDevice SN-2 is not finished: scan it again.',
    )
  })

  test('a blank label is told, and programs nothing', async () => {
    const run = start()
    await run.scan('\n')
    await run.says('Nothing was read. Is the label blank?')
    await run.scan('exit\n')
    expect(await run.ended).toBe(0)
    expect(station.receipts()).toEqual([])
  })

  test('the log has what the station, softsim and the device say, and no profile', async () => {
    const device = await serialPort((line) => `echo ${line}\r\nOK\r\n`)
    const run = start({ LOG: station.path('log.txt') }, device.port)
    await run.scan('SN-1\n')
    await run.says('Device SN-1 is programmed.')
    await run.scan('SN-1\n')
    await run.says('already programmed')
    run.type('yes\n')
    await run.says('Device SN-1 is programmed.')
    await run.scan('exit\n')
    await run.ended
    expect(station.linesOf('log.txt').map((line) => line.replace(/^[\d:TZ-]+ /, ''))).toEqual([
      'WARNING: profiles left: 5. Fetch more.',
      `softsim: handed out ${iccid(1)} to device SN-1, now ${directory}/__${iccid(1)}.json`,
      `softsim: at most 4 unused profiles left in ${directory}`,
      'Device SN-1: echo (profile)',
      'Device SN-1: OK',
      'Device SN-1 is programmed.',
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
    const run = start({ SEND: `'AT+SOFTSIM="%s"'` }, device.port)
    await run.scan('SN-1\n')
    await run.says('Device SN-1 is programmed.')
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
    const run = start({ READ, TIMEOUT: '2' }, device.port)
    for (const said of [iccid(2), iccid(1).slice(0, -1)]) {
      await run.scan('SN-1\n')
      await run.says(`Device SN-1 got ${iccid(1)}, but says ${said}: it may have another identity.`)
      await run.says('Device SN-1 failed.')
    }
    await run.scan('SN-1\n')
    await run.says('No answer that names the ICCID from device SN-1 (limit: 2 s).')
    await run.scan('SN-1\n')
    await run.says('Device SN-1 is programmed.')
  })

  test('a program prints the ICCID of its device: another one or none is a failure', async () => {
    const run = start({ READ, PANEL: '3' })
    for (const [at, said] of [`ICCID: ${iccid(1)}`, `ICCID: ${iccid(1)}`, 'done'].entries())
      station.put(`says-SN-${at + 1}`, said)
    for (const serial of ['SN-1', 'SN-2', 'SN-3']) {
      await run.scan(`${serial}\n`)
      await run.says('\n')
    }
    await run.says('Device SN-3 failed.')
    await run.asks()
    await run.pressCtrlC()
    expect(station.results()).toEqual(['"SN-1" pass', '"SN-2" fail', '"SN-3" fail'])
    rmSync(station.path('says-SN-1'))
  })

  test.each([
    [{ SEND: 'AT+SOFTSIM' }, 'SEND has no %s for the profile.'],
    [{ READ: 'ICCID' }, 'READ has no (...) around the ICCID.'],
    [{ PASS: '(' }, '( is not a regular expression.'],
    [{ PANEL: '0' }, 'PANEL is 0.'],
    [{ LOW_STOCK: 'fifty' }, 'fifty is not a number.'],
    [{ LOG: '/nowhere/log.txt' }, "Can't write /nowhere/log.txt."],
  ])('it does not start with %j', async (settings, message) => {
    const run = start(settings)
    expect(await run.ended).toBe(2)
    expect(run.terminal.shown).toContain(message)
  })
})
