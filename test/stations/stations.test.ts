/** `softsim station`, the real program at a pseudo-terminal, with the table of cases; and what can't be a row of it. */
import { execFileSync, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { pageAt } from '../docs/pages.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { program, until } from '../support/softsim.ts'
import { CASES, forget, type Run } from './cases.ts'
import { canRun, endAll, makePlace, type Place, serialPort, startTerminal, type Terminal } from './place.ts'

const isRoot = spawnSync('setpriv', ['--reuid', '53001', '--clear-groups', 'true']).status === 0

const isRunning = (pid: number) => fs.existsSync(`/proc/${pid}/stat`)

/** The key of all tests, with a passphrase. */
function lockedKey(): string {
  const path = join(inject('root'), 'stations-locked.pem')
  if (fs.existsSync(path)) return path
  fs.copyFileSync(inject('keys').privateKeyPath, `${path}.new`)
  fs.chmodSync(`${path}.new`, 0o600)
  execFileSync('ssh-keygen', ['-q', '-p', '-m', 'PEM', '-N', 'a secret', '-f', `${path}.new`])
  fs.renameSync(`${path}.new`, path)
  return path
}

const pattern = (words: string) => words.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')

async function check(place: Place, run: Run): Promise<void> {
  run.first?.(place)
  const answers = [...(run.port ?? [])]
  const device = run.port?.length
    ? await serialPort((line) => (answers.shift() ?? '').replaceAll('{line}', line))
    : undefined
  const target =
    run.port === undefined ? ['--program', './program-device'] : device ? ['--port', device.port] : []
  const options = [...target, ...(run.options ?? [])]
  const { code, shown } =
    run.list === undefined
      ? await type(place.start(options, run.env), run)
      : await place.runList(options, run.list, run.env)
  expect(shown).toMatch(new RegExp((run.says ?? []).map(pattern).join('[^]*')))
  for (const words of run.never ?? []) expect(shown).not.toContain(words)
  expect(code, shown).toBe(run.code ?? 0)
  const received = place.lines('programmed').map((line) => line.split(' '))
  for (const profile of [...received.flatMap((words) => words[3] ?? []), ...(device?.received ?? [])]) {
    expect(profile).toMatch(/[0-9a-f]{200}/)
    expect(shown).not.toContain(/[0-9a-f]{200,}/.exec(profile)?.[0])
  }
  expect(place.lines('secrets')).toEqual([])
  const programmed = received.map(
    ([slot, serial, , sent]) => `${slot} ${serial} ${sent?.replace(/[0-9a-f]{200,}/, '#')}`,
  )
  if (run.programmed) expect(programmed.sort()).toEqual(run.programmed)
  if (run.results !== undefined) expect(place.results()).toBe(run.results)
  if (run.given !== undefined) expect(place.given()).toBe(run.given)
}

async function type(terminal: Terminal, { typed = [] }: Run) {
  for (const text of [...typed, 'exit']) if (!terminal.isGone()) await terminal.answer(text)
  return { code: await terminal.ended, shown: terminal.shown.replaceAll('\r', '') }
}

afterAll(endAll)

// Most of the time, each waits.
describe.skipIf(!canRun).concurrent('softsim station does what the table says', () => {
  test.each(CASES)('$name', async (each) => {
    const place = makePlace(each.stock, each.digits)
    fs.copyFileSync(lockedKey(), place.path('locked.pem'))
    fs.copyFileSync(inject('otherKeys').privateKeyPath, place.path('other.pem'))
    await check(place, each)
    if (each.again) await check(place, each.again)
  })
})

describe.skipIf(!canRun).concurrent('softsim station at a terminal', () => {
  const start = (place: Place, ...options: string[]) =>
    place.start(['--program', './program-device', ...options])

  test('what is scanned too early, whole or in part, is said, and programs nothing', async () => {
    const place = makePlace()
    place.put('hang-SN-1')
    // Long enough for SN-3, also on a busy machine.
    const terminal = start(place, '--timeout', '5')
    await terminal.answer('SN-1')
    await terminal.says('hanging')
    terminal.type('\r\rSN-2\rSN-')
    await terminal.says('Device SN-1 failed: the program did not end in 5 s.')
    await terminal.says('Scanned before the question, and not used: SN-2, SN-. Scan again.')
    await terminal.answer('SN-3', 'exit')
    expect(await terminal.ended).toBe(8)
    expect(place.results()).toBe('SN-1 fail, SN-3 pass')
    // The program was asked to end, and could let go of the device.
    expect(place.lines('asked')).toEqual(['asked'])
  })

  test('in a panel, labels may come faster than the questions; after one that is refused they are dropped', async () => {
    const place = makePlace()
    const terminal = start(place, '--panel', '3')
    await terminal.asks()
    terminal.type('SN-1\rSN-1\rSN-3\r')
    await terminal.says('Device SN-1 is in this panel already.')
    await terminal.says('not used: SN-3.')
    await terminal.asks()
    terminal.type('SN-2\rSN-3\r')
    await terminal.says('Device SN-3 is programmed.')
    await terminal.answer('exit')
    await terminal.ended
    // What was typed before its question is shown there.
    expect(terminal.shown).toMatch(/device 3 of 3 [^:]*: SN-3\r\n/)
    expect(
      place
        .lines('programmed')
        .map((line) => line.slice(0, 6))
        .sort(),
    ).toEqual(['1 SN-1', '2 SN-2', '3 SN-3'])
  })

  test('what passes at another station while the panel waits is not programmed, and keeps its pass', async () => {
    const place = makePlace()
    const terminal = start(place, '--panel', '2')
    await terminal.answer('SN-1')
    await terminal.asks()
    await place.runList(['--program', './program-device'], 'SN-1\n')
    terminal.type('SN-2\r')
    await terminal.says('Device SN-2 is programmed.')
    await terminal.answer('exit')
    expect(await terminal.ended).toBe(8)
    expect(terminal.shown).toContain('Device SN-1 has passed elsewhere meanwhile, and is not programmed.')
    expect(terminal.shown).toContain('not programmed: SN-1 (refused)')
    expect([place.results(), place.lines('programmed').length]).toEqual(['SN-1 pass, SN-2 pass', 2])
  })

  test.each([
    ['passes', 'TERM', 'SN-1 pass, SN-1 pass, SN-1 fail'],
    ['fails', 'KILL', 'SN-1 pass, SN-1 fail, SN-1 fail'],
  ])(
    'what passes elsewhere while it %s here has not passed: two devices have its label',
    async (_, signal, results) => {
      const place = makePlace()
      place.put('hang-SN-1')
      // On a busy machine, what happens meanwhile takes as long as the usual time.
      const terminal = start(place, '--timeout', '600')
      await terminal.answer('SN-1')
      await terminal.says('hanging')
      fs.rmSync(place.path('hang-SN-1'))
      await place.runList(['--program', './program-device'], 'SN-1\n')
      execFileSync('kill', ['-s', signal, ...place.lines('hanging')])

      await terminal.says('Device SN-1 has passed elsewhere meanwhile. Put both aside.')
      await terminal.answer('exit')
      expect([await terminal.ended, place.results()]).toEqual([8, results])
      // Nobody programs it again without a question.
      const list = await place.runList(['--program', './program-device'], 'SN-1\n')
      expect([list.code, place.lines('programmed').length]).toEqual([8, 2])
      expect(list.shown).toContain('not programmed: SN-1 (refused)')
    },
  )

  test('what fails here and passes elsewhere has passed at the end of the shift', async () => {
    const place = makePlace()
    place.put('fail-SN-1')
    const terminal = start(place)
    await terminal.answer('SN-1')
    await terminal.says('Device SN-1 failed')
    fs.rmSync(place.path('fail-SN-1'))
    await place.runList(['--program', './program-device'], 'SN-1\n')
    await terminal.answer('exit')
    expect([await terminal.ended, place.results()]).toEqual([0, 'SN-1 fail, SN-1 pass'])
    expect(terminal.shown).toContain('End of the shift: 1 device passed')
  })

  test('what passes here and fails elsewhere has not passed at the end of the shift', async () => {
    const place = makePlace()
    const terminal = start(place)
    await terminal.answer('SN-1')
    await terminal.says('Device SN-1 is programmed.')
    place.put('fail-SN-1')
    const other = start(place)
    await other.answer('SN-1', 'yes', 'exit')
    expect(await other.ended).toBe(8)
    await terminal.answer('exit')
    expect([await terminal.ended, place.results()]).toEqual([8, 'SN-1 pass, SN-1 fail, SN-1 fail'])
    expect(terminal.shown).toContain('End of the shift: 0 devices passed; not passed: SN-1')
    // From its first moment on, a second attempt is noted, here and in the receipt, with who has done what to which profile.
    const receipts = place.receipts().filter(({ result }) => result)
    expect(receipts.map(({ note }) => note)).toEqual([
      ...[undefined, 'is programmed again', 'exit code 3: no answer of the debugger'],
    ])
    const of = { device: 'SN-1', iccid: iccid(1), directory: place.path('profiles'), station: hostname() }
    for (const each of receipts) expect(each).toMatchObject({ ...of, from: expect.stringMatching(/^\w+$/) })
  })

  test.each([
    ['in part', 'another\ra sec', 'ret\r'],
    ['whole', 'another\ra secret\r', ''],
  ])('of a passphrase that is typed before its question, %s, nothing is shown', async (_, early, late) => {
    const place = makePlace()
    fs.copyFileSync(lockedKey(), place.path('softsim.pem'))
    const terminal = start(place)
    await terminal.asks()
    terminal.type(early)
    await until(() => terminal.shown.split('Passphrase of softsim.pem: ').length === 3)
    terminal.type(late)
    await terminal.says('Serial number of the device')
    await terminal.answer('exit')
    expect(await terminal.ended).toBe(0)
    expect(terminal.shown).not.toContain('a sec')
  })

  test('a passphrase is what is typed, with its blanks', async () => {
    const place = makePlace()
    fs.copyFileSync(lockedKey(), place.path('softsim.pem'))
    const terminal = start(place)
    await terminal.answer('a secret ', 'a secret', 'exit')
    expect(await terminal.ended).toBe(0)
    expect(terminal.shown).toContain('This passphrase is wrong.')
  })

  test('a terminal that is closed in the middle: the program ends; the next start names the device, and programs it without a question', async () => {
    const place = makePlace()
    place.put('hang-SN-1')
    const first = start(place)
    await first.answer('SN-1')
    await first.says('hanging')
    first.close()
    await first.ended
    await until(() => !place.lines('hanging').map(Number).some(isRunning))
    fs.rmSync(place.path('hang-SN-1'))
    expect(place.results()).toBe('')
    const second = start(place)
    await second.says('Not passed:  1 device with a profile: SN-1')
    await second.answer('SN-1')
    await second.says('SN-1 has a profile, but no pass is recorded: programming it again')
    await second.says('Device SN-1 is programmed.')
    await second.answer('exit')
    expect([await second.ended, place.given()]).toEqual([0, 'SN-1 1, SN-1 1'])
  })

  test.each([
    ['at the question', 'SN-2', 0],
    ['while a device is programmed', 'SN-1', 1],
  ])('Ctrl-C %s: the programs end, and what has not passed is named', async (_, serial, open) => {
    const place = makePlace()
    place.put('hang-SN-1')
    const terminal = start(place)
    await terminal.answer(serial)
    await terminal.says(open ? 'hanging' : 'is programmed.')
    if (!open) await terminal.asks()
    terminal.type('\x03')
    expect(await terminal.ended).toBe(130)
    expect(terminal.shown).toContain(`End of the shift: ${1 - open} device${open ? 's' : ''} passed`)
    expect(terminal.shown.includes('not passed: SN-1')).toBe(open === 1)
    const hint = open ? 'scan the devices that have not passed again: ' : 'no device is left open'
    expect(terminal.shown).toContain(`softsim: error: interrupted\r\nsoftsim: hint: ${hint}`)
    expect(place.lines('hanging').map(Number).some(isRunning)).toBe(false)
  })

  test('what a program writes has the rights that its user has asked for', async () => {
    const place = makePlace()
    fs.writeFileSync(place.path('program-device'), '#!/bin/sh\ncat > /dev/null; umask > mask\n')
    const words = place.words(['--program', './program-device'])
    await place.run('sh', ['-c', 'umask 027; exec "$@"', 'sh', ...words], 'SN-1\n')
    expect(place.lines('mask')).toEqual(['0027'])
  })

  test('Ctrl-C ends it also if a program has left something running', async () => {
    const place = makePlace()
    const script = '#!/bin/sh\ncat > /dev/null; sleep 600 & echo $! > left\n'
    fs.writeFileSync(place.path('program-device'), script)
    const terminal = start(place)
    await terminal.answer('SN-1')
    await terminal.says('Device SN-1 is programmed.')
    await terminal.asks()
    terminal.type('\x03')
    expect(await terminal.ended).toBe(130)
    execFileSync('kill', place.lines('left'))
  })

  test('Ctrl-C after the program has ended well, while what it has left may speak: the device has passed', async () => {
    const place = makePlace()
    // The number of the program is free once the station has its exit code.
    const left = '(while kill -0 $$; do sleep 0.01; done; kill -INT $PPID; sleep 0.2) 2> /dev/null &'
    fs.writeFileSync(place.path('program-device'), `#!/bin/sh\ncat > /dev/null; ${left}\n`)
    const terminal = start(place)
    await terminal.answer('SN-1')
    expect(await terminal.ended).toBe(130)
    expect(terminal.shown).toContain('End of the shift: 1 device passed')
  })

  test.runIf(isRoot)('a program of another user that can not be ended ends the shift', async () => {
    const place = makePlace()
    execFileSync('chmod', ['-R', 'a+rwX', place.path('.')])
    fs.chmodSync(place.path('..'), 0o711)
    // As sudo does: all of its numbers are those of root.
    const setpriv = execFileSync('which', ['setpriv'], { encoding: 'utf8' }).trim()
    fs.copyFileSync(setpriv, place.path('as-root'))
    fs.chmodSync(place.path('as-root'), 0o4755)
    const root = `./as-root --reuid 0 --clear-groups sh -c 'echo $$ > left; exec sleep 600'`
    fs.writeFileSync(place.path('program-device'), `#!/bin/sh\n${root}\n`)
    const words = place.words(['--program', './program-device', '--timeout', '1'])
    const { code, shown } = await place.run(
      setpriv,
      ['--reuid', '53001', '--clear-groups', ...words],
      'SN-1\nSN-2\n',
    )
    expect(code, shown).toBe(8)
    expect(shown).toMatch(/Device SN-1 failed: the program still runs \(group \d+\), and can't be ended/)
    expect(shown).toContain('hint: end it before another device is put in: it may write to it\n')
    expect([place.given(), place.results()]).toEqual(['SN-1 1', 'SN-1 fail'])
    execFileSync('kill', place.lines('left'))
  })

  test('a directory that is away at a scan has forgotten nothing', async () => {
    const place = makePlace()
    await place.runList(['--program', './program-device'], 'SN-1\n')
    const terminal = start(place)
    await terminal.asks()
    fs.renameSync(place.path('profiles'), place.path('away'))
    terminal.type('SN-1\r')
    expect(await terminal.ended).toBe(9)
    expect(terminal.shown).toContain('profiles is gone, or has lost .identity')
  })

  test('a directory that is away at the end of the shift: what has passed has passed', async () => {
    const place = makePlace()
    const terminal = start(place)
    await terminal.answer('SN-1')
    await terminal.says('Device SN-1 is programmed.')
    await terminal.asks()
    fs.renameSync(place.path('profiles'), place.path('away'))
    terminal.type('exit\r')
    expect(await terminal.ended).toBe(0)
    expect(terminal.shown).toContain('End of the shift: 1 device passed')
  })

  test('a directory that forgets a device in the middle of a shift gives it no second profile', async () => {
    const place = makePlace()
    const terminal = start(place)
    await terminal.answer('SN-1')
    await terminal.says('Device SN-1 is programmed.')
    await terminal.asks()
    forget(place)
    terminal.type('SN-1\r')
    expect(await terminal.ended).toBe(10)
    expect(terminal.shown).toContain('device SN-1 has a profile that profiles does not know')
  })

  test('a device may be quiet for a while before it answers', async () => {
    const place = makePlace()
    const device = await serialPort(() => '')
    const terminal = place.start(['--port', device.port, '--timeout', '10'])
    await terminal.answer('SN-1')
    await until(() => device.received.length > 0)
    // Longer than what ends a line.
    await sleep(700)
    device.type('OK\r\n')
    await terminal.answer('exit')
    expect([await terminal.ended, place.results()]).toEqual([0, 'SN-1 pass'])
    expect(terminal.shown).toContain(', 115200 baud')
  })

  test('four ports: each device gets its own profile, whatever the others answer', async () => {
    const place = makePlace(9)
    const answers = ['OK\r\n', 'ERROR\r\n', '', 'booting\r\nOK\r\n']
    const devices = await Promise.all(answers.map((answer) => serialPort(() => answer)))
    const terminal = place.start([...devices.flatMap(({ port }) => ['--port', port]), '--timeout', '2'])
    await terminal.answer('SN-1', 'SN-2', 'SN-3', 'SN-4', 'exit')
    expect(await terminal.ended).toBe(8)
    expect(terminal.shown).toContain('End of the shift: 2 devices passed; not passed: SN-2, SN-3')
    expect(terminal.shown).toContain('Not passed: slot 2, 3\r\n')
    const question = `Serial number of device 2 of 4, at ${devices[1]?.port} (or skip if it is empty, back, exit): `
    expect(terminal.shown).toContain(question)
    const received = devices.map((each) => each.received)
    expect(received.map(({ length }) => length)).toEqual([1, 1, 1, 1])
    expect(new Set(received.flat()).size).toBe(4)
    expect(place.given()).toBe('SN-1 1, SN-2 2, SN-3 3, SN-4 4')
  })

  test('a cable that is pulled out before the profiles are taken: its device is left out, and claims nothing', async () => {
    const place = makePlace()
    const devices = await Promise.all(['OK\r\n', 'OK\r\n'].map((answer) => serialPort(() => answer)))
    const links = devices.map(({ port }, at) => {
      const link = join(temporaryDirectory(), `ttyUSB${at}`)
      fs.symlinkSync(port, link)
      return link
    })
    const terminal = place.start(links.flatMap((link) => ['--port', link]))
    await terminal.answer('SN-1')
    fs.rmSync(links[1] ?? '')
    await terminal.answer('SN-2', 'exit')
    expect(await terminal.ended).toBe(8)
    expect(terminal.shown).toContain('device SN-2 is left out')
    expect(fs.existsSync(links[1] ?? '')).toBe(false)
    expect([place.given(), devices[1]?.received]).toEqual(['SN-1 1', []])
  })

  test('what a device said before is the beginning of its line, also after a silence', async () => {
    const place = makePlace()
    const answers = ['OK\r\nWriting... ', 'OK\r\nERROR\r\n']
    const device = await serialPort(() => answers.shift() ?? '')
    const terminal = place.start(['--port', device.port, '--timeout', '10'])
    await terminal.asks()
    device.type('Erasing... ')
    terminal.type('SN-1\r')
    await until(() => device.received.length > 0)
    // Longer than what ends a line.
    await sleep(700)
    device.type('FAILED\r\n')
    await terminal.says('Device SN-1 failed: it answers Writing... FAILED.')
    await terminal.asks()
    device.type('Init modem... ')
    terminal.type('SN-1\r')
    await terminal.says('Device SN-1 failed: it answers ERROR.')
    await terminal.answer('exit')
    await terminal.ended
    expect(place.results()).toBe('SN-1 fail, SN-1 fail')
  })

  test('what a device said before it got the profile is no answer', async () => {
    const place = makePlace()
    const device = await serialPort(() => 'ERROR\r\n')
    const terminal = place.start(['--port', device.port])
    await terminal.asks()
    device.type('OK\r\n')
    terminal.type('SN-1\r')
    await terminal.says('Device SN-1 failed: it answers ERROR.')
  })

  test('one port under two names', async () => {
    const { port } = await serialPort(() => 'OK\r\n')
    const link = join(temporaryDirectory(), 'ttyUSB0')
    fs.symlinkSync(port, link)
    const terminal = makePlace().start(['--port', port, '--port', link])
    expect(await terminal.ended).toBe(2)
    expect(terminal.shown).toContain('a port is named twice')
  })
})

describe('the pages', () => {
  const sources = fs
    .globSync('src/**/*.ts')
    .map((path) => fs.readFileSync(path, 'utf8'))
    .join('\n')

  test('the one to print is short, and quotes what is shown', () => {
    const page = pageAt('scripts/stations/at-the-line.md')
    expect(page.split(/\s+/).filter((word) => /\w/.test(word)).length).toBeLessThanOrEqual(320)
    const quoted = [...page.matchAll(/^- `([^`]+)`/gm)].flatMap(([, words = '']) => words.split(/\s*…\s*/))
    expect(quoted.length).toBeGreaterThan(8)
    expect(quoted.filter((words) => !sources.includes(words))).toEqual([])
  })

  test('the one of stations is short', () => {
    expect(pageAt('scripts/stations/README.md').split(/\s+/).length).toBeLessThanOrEqual(500)
  })

  test.skipIf(!canRun)(
    'the example of a script of one’s own sends a profile, and nothing if softsim fails',
    async () => {
      const place = makePlace(1)
      const device = await serialPort(() => '')
      place.put(
        'softsim',
        `#!/bin/sh\nexec ${program()
          .map((word) => `'${word}'`)
          .join(' ')} "$@"\n`,
      )
      fs.chmodSync(place.path('softsim'), 0o755)
      const env = { PATH: `${place.path('.')}:${process.env['PATH']}` }
      const script = resolve('scripts/stations/own-script.sh')
      const run = (serial: string) =>
        startTerminal(['sh', script, serial, device.port], place.path('.'), env).ended
      expect([await run('SN-1'), await run('SN-2')]).toEqual([0, 3])
      await until(() => device.received.length > 0)
      expect(device.received).toEqual([expect.stringMatching(/^[0-9a-f]{200,}$/)])
    },
  )
})
