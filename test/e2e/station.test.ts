/** The station's script of README.md, as it stands there, at a terminal. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { directoryOf, someProfiles, temporaryDirectory, usedIn } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { program, until } from '../support/softsim.ts'
import { hasProgram } from '../support/system.ts'

const { privateKeyPath: KEY } = inject('keys')
const PROMPT = 'Serial number of the device: '
const [SCRIPT = ''] = /(?<=```bash\n)#!\/usr\/bin\/env bash\n# Programs one device[\s\S]*?(?=```)/.exec(
  readFileSync('README.md', 'utf8'),
) ?? ['']

/** A station with its own PATH: softsim, and a device programmer that fails or hangs where a file says so. */
function stationOf(directory: string) {
  const place = temporaryDirectory()
  const path = (name: string) => join(place, name)
  const executable = (name: string, text: string) => {
    writeFileSync(path(name), text)
    chmodSync(path(name), 0o755)
  }
  executable('station', SCRIPT)
  executable(
    'softsim',
    `#!/bin/sh\nexec ${program()
      .map((word) => `'${word}'`)
      .join(' ')} "$@"\n`,
  )
  executable(
    'program-device',
    `#!/bin/sh\ncd '${place}'; read -r line; [ ! -e fail ] || exit 1\n[ ! -e hang ] || { : > hanging; exec sleep 600; }\necho "$line" >> programmed\n`,
  )
  const start = (key = KEY) => {
    const env = { ...process.env, PATH: `${place}:${process.env['PATH']}`, PROFILES: directory, KEY: key }
    const child = spawn('script', ['-qec', path('station'), '/dev/null'], {
      env: { ...env, RECEIPT: path('receipt') },
    })
    let shown = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      shown += text
    })
    const ended = once(child, 'close').then(([code]) => code)
    return {
      ended,
      shown: () => shown,
      says: (words: string) => until(() => shown.includes(words) || child.exitCode !== null),
      /** Waits for the prompt, and answers it. */
      async scan(text: string): Promise<void> {
        await until(() => shown.endsWith(PROMPT) || child.exitCode !== null)
        shown = ''
        child.stdin.write(text)
      },
      type: (text: string) => child.stdin.write(text),
    }
  }
  const receipts = () =>
    readFileSync(path('receipt'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
  const programmed = () => readFileSync(path('programmed'), 'utf8').trimEnd().split('\n')
  return { path, start, receipts, programmed }
}

describe.skipIf(process.platform !== 'linux' || !hasProgram('script'))('the station’s script', () => {
  test('programs one device after another; one that fails gets the same profile again', async () => {
    const directory = directoryOf(someProfiles(5))
    const station = stationOf(directory)
    const run = station.start()
    await run.scan('SN-1\n')
    await run.says('Device SN-1 is programmed.')
    writeFileSync(station.path('fail'), '')
    await run.scan('SN-2\n')
    await run.says('Device SN-2 failed.')
    rmSync(station.path('fail'))
    await run.scan('\n')
    await run.scan('SN-2\n')
    await run.says('Device SN-2 is programmed.')
    await run.scan('\u0004')
    expect(await run.ended).toBe(0)
    expect(station.receipts().map(({ device, iccid, again }) => [device, iccid, again])).toEqual([
      ['SN-1', iccid(1), false],
      ['SN-2', iccid(2), false],
      ['SN-2', iccid(2), true],
    ])
    expect(station.programmed()).toHaveLength(2)
    expect(usedIn(directory)).toHaveLength(2)
  })

  test('Ctrl-C while a device is programmed: it is named, and gets the same profile the next time', async () => {
    const directory = directoryOf(someProfiles(3))
    const station = stationOf(directory)
    writeFileSync(station.path('hang'), '')
    const first = station.start()
    await first.scan('SN-1\n')
    await until(() => existsSync(station.path('hanging')))
    first.type('\u0003')
    expect(await first.ended).toBe(130)
    expect(first.shown()).toContain('Device SN-1 is not finished: scan it again.')
    rmSync(station.path('hang'))
    const second = station.start()
    await second.scan('SN-1\n')
    await second.says('Device SN-1 is programmed.')
    await second.scan('\u0003')
    expect(await second.ended).toBe(130)
    expect(usedIn(directory)).toHaveLength(1)
  })

  test('the wrong key or an empty directory stops it before anything is claimed', async () => {
    const directory = directoryOf(someProfiles(3))
    expect(await stationOf(directory).start('/nowhere/key.pem').ended).toBe(4)
    expect(usedIn(directory)).toEqual([])
    expect(await stationOf(directoryOf([])).start().ended).toBe(3)
  })

  test('the last profile: the next device ends it with exit code 3', async () => {
    const directory = directoryOf(someProfiles(1))
    const run = stationOf(directory).start()
    await run.scan('SN-1\n')
    await run.says('is programmed')
    await run.scan('SN-2\n')
    expect(await run.ended).toBe(3)
    expect(run.shown()).toContain('no unused profile')
  })
})
