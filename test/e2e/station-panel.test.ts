/** scripts/stations/softsim-station at a terminal, with panels of four. */
import { existsSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, inject, test } from 'vitest'
import { directoryOf, someProfiles, temporaryDirectory } from '../support/directory.ts'
import { softsim, until } from '../support/softsim.ts'
import { serialPort, stationOf } from '../support/station.ts'
import { hasProgram } from '../support/system.ts'

const KEY = inject('keys').privateKeyPath
const SERIALS = ['SN-1', 'SN-2', 'SN-3', 'SN-4']
const canRun = process.platform === 'linux' && hasProgram('script')

const isRunning = (pid: number) => existsSync(`/proc/${pid}/stat`)

type Run = ReturnType<ReturnType<typeof stationOf>['start']>

async function scanAll(run: Run, serials: readonly string[]): Promise<void> {
  for (const serial of serials) {
    await run.scan(`${serial}\n`)
    await until(() => run.terminal.shown.includes('\n'))
  }
}

describe.skipIf(!canRun)('a panel of four', () => {
  let directory: string
  let station: ReturnType<typeof stationOf>
  const start = (settings = {}, ...ports: string[]) => station.start({ KEY, ...settings }, ...ports)
  const lineOf = async (serial: string) =>
    (await softsim(['next', '-k', KEY, '-i', directory, '--device', serial])).stdout.trimEnd()

  beforeEach(() => {
    directory = directoryOf(someProfiles(9))
    station = stationOf(directory)
  })

  test('four ports: each device gets its own line, whatever the others answer', async () => {
    const answers = ['OK\r\n', 'ERROR\r\n', '', 'booting\r\nOK\r\n']
    const devices = await Promise.all(answers.map((answer) => serialPort(() => answer)))
    const run = start({ TIMEOUT: '3' }, ...devices.map(({ port }) => port))
    await scanAll(run, SERIALS)
    await run.says('Device SN-4 is programmed.')
    await run.asks()
    await run.pressCtrlC()
    expect(devices.map(({ received }) => received)).toEqual(
      (await Promise.all(SERIALS.map(lineOf))).map((line) => [line]),
    )
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
    expect(devices[2]?.received).toEqual([await lineOf('SN-3')])
    expect(station.receipts().map(({ device }) => device)).toEqual(['SN-1', 'SN-3', 'SN-4'])
  })

  test.each([
    ['Ctrl-C', (run: Run) => run.pressCtrlC()],
    ['a terminal that is closed', async (run: Run) => run.terminal.close()],
  ])(
    '%s in the middle: what was programmed is recorded as such, and every other device is unfinished',
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
      expect(station.results().sort()).toEqual([
        '"SN-1" unfinished',
        '"SN-2" pass',
        '"SN-3" pass',
        '"SN-4" unfinished',
      ])
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
