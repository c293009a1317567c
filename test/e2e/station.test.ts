/** scripts/stations/softsim-station, the file itself, at a terminal: one device after another, with a device programmer. */
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, rmSync, symlinkSync } from 'node:fs'
import { beforeEach, describe, expect, inject, test } from 'vitest'
import { blocksOf, pageAt } from '../docs/pages.ts'
import { usedIn } from '../support/directory.ts'
import { lines } from '../support/promises.ts'
import { until } from '../support/softsim.ts'
import { CTRL_D, canRun, isRunning, stationWith } from '../support/station.ts'

const CTRL_C = '\u0003'

describe.skipIf(!canRun)('the stations’ script with a device programmer', () => {
  let station: ReturnType<typeof stationWith>
  const start = (settings = {}) => station.start(settings)

  beforeEach(() => {
    station = stationWith(5)
  })

  test('Enter pressed twice, and a serial number scanned too early, program nothing', async () => {
    station.put('hold')
    const run = start()
    await run.scan('SN-1\n\n')
    await until(() => existsSync(station.path('held')))
    run.type('SN-2\nSN-')
    await run.says('SN-1\r\n\r\nSN-2\r\nSN-')
    rmSync(station.path('hold'))
    await run.says('Device SN-1 is programmed.')
    await run.program('SN-3')
    await run.scan(CTRL_D)
    await run.ended
    expect(station.results()).toEqual(['"SN-1" pass', '"SN-3" pass'])
    expect(usedIn(station.directory)).toHaveLength(2)
  })

  test('the passphrase of the key is asked for once, and not shown', async () => {
    const locked = station.path('locked.pem')
    copyFileSync(inject('keys').privateKeyPath, locked)
    execFileSync('ssh-keygen', ['-q', '-p', '-m', 'PEM', '-N', 'a secret', '-f', locked])
    const run = start({ KEY: locked })
    await run.says('Passphrase of')
    run.type('a secret\n')
    for (const serial of ['SN-1', 'SN-2']) {
      await run.says('Serial number')
      expect(run.terminal.shown).not.toContain('a secret')
      await run.scan(`${serial}\n`)
      await run.says(`Device ${serial} is programmed.`)
      expect(run.terminal.shown).not.toContain('Passphrase')
    }
  })

  test('Ctrl-C at the prompt: no device is unfinished, except one that failed', async () => {
    station.put('fail')
    const first = start()
    await first.asks()
    expect(await first.pressCtrlC()).toBe(130)
    expect(first.terminal.shown).not.toContain('not finished')
    const second = start()
    await second.scan('SN-1\n')
    await second.asks()
    expect(await second.pressCtrlC()).toBe(130)
    expect(second.terminal.shown).toContain('Device SN-1 is not finished: scan it again.')
  })

  test('Ctrl-C while a profile is taken: the device is named, and gets that profile the next time', async () => {
    station.put('hold')
    const first = start()
    await first.scan('SN-1\n')
    await until(() => existsSync(station.path('held')))
    first.type(CTRL_C)
    expect(await first.ended).toBe(130)
    expect(first.terminal.shown).toContain('Device SN-1 is not finished: scan it again.')
    const second = start()
    await second.program('SN-1')
    await second.pressCtrlC()
    expect(station.results()).toEqual(['"SN-1" unfinished', '"SN-1" pass'])
    expect(station.receipts().map(({ again }) => again)).toEqual([false, true])
    expect(usedIn(station.directory)).toHaveLength(1)
  })

  test('the manual’s command lists the devices that have a profile and did not pass last', async () => {
    const blocks = blocksOf(pageAt('scripts/stations/README.md'))
    const command = blocks.find(({ text }) => text.includes('--failed'))
    const run = start()
    // A spreadsheet would take +1 and -1 for formulas.
    await run.program('SN-1', '+1', '-1')
    station.put('fail')
    await run.scan('SN-2\n')
    await run.says('Device SN-2 failed.')
    await run.scan('SN-1\n')
    await run.says('already programmed')
    run.type('yes\n')
    await run.says('Device SN-1 failed.')
    await run.scan(CTRL_D)
    await run.ended
    await station.lineOf('SN-3')
    // Of another station: the newest result of a device counts, whichever file has it.
    station.put(
      'results-2.csv',
      'time,station,device,result\n2999-01-01T00:00:00Z,b,"SN-2",pass\n2000-01-01T00:00:00Z,b,"SN-1",pass\n',
    )
    symlinkSync(station.directory, station.path('profiles'))
    const env = { ...process.env, PATH: `${station.path('.')}:${process.env['PATH']}` }
    const text = command?.text ?? ''
    const listed = execFileSync('bash', ['-c', text], { cwd: station.path('.'), env, encoding: 'utf8' })
    expect(lines(listed).map((line) => line.split(/ {2,}/)[2])).toEqual(['device', 'SN-1', 'SN-3'])
    expect(lines(listed)[1]).toMatch(/ fail$/)
  })

  test.each([
    ['Ctrl-C', 130, (run: ReturnType<typeof start>) => run.pressCtrlC()],
    ['a terminal that is closed', undefined, async (run: ReturnType<typeof start>) => run.terminal.close()],
  ])('%s while a device is programmed: the programmer ends, the device is named', async (_, code, stop) => {
    station.put('hang')
    const run = start({ TIMEOUT: '600' })
    await run.scan('SN-1\n')
    await until(() => station.hanging().length > 0)
    const [pid = 0] = station.hanging()
    await stop(run)
    const ended = await run.ended
    if (code !== undefined) {
      expect(ended).toBe(code)
      expect(run.terminal.shown).toContain('Device SN-1 is not finished: scan it again.')
    }
    await until(() => station.results().length > 0 && !isRunning(pid))
    expect(station.results()).toEqual(['"SN-1" unfinished'])
  })
})
