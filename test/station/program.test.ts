/** The program of a device, a real one each time; what it does at a terminal is in stations/. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runProgram } from '../../src/station/program.ts'
import type { Settings } from '../../src/station/settings.ts'
import { Answer } from '../../src/station/verdict.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { until } from '../support/softsim.ts'
import { hasPosix } from '../support/system.ts'

const given = { iccid: '89880000000000000017', line: '01'.repeat(100), device: 'SN-1', isAgain: false }

/** The umask of this process, before it has started anything. */
const OWN = process.umask()

interface Setting {
  readonly read?: RegExp
  readonly stop?: AbortSignal
  readonly timeoutMs?: number
  readonly sent?: string
  readonly hear?: (line: string) => void
}

/** Runs a script of sh, and says what became of it and what was heard. */
async function run(script: string, setting: Setting = {}) {
  const place = temporaryDirectory()
  const program = join(place, 'program-device')
  writeFileSync(program, `#!/bin/sh\ncd "$(dirname "$0")"\n${script}\n`, { mode: 0o755 })
  return { place, ...(await start(program, setting)) }
}

async function start(program: string, { read, ...setting }: Setting = {}) {
  const heard: string[] = []
  const variables = { SOFTSIM_DEVICE: 'SN-1', SOFTSIM_ICCID: given.iccid, SOFTSIM_SLOT: '3' }
  const call = {
    ...{ program, umask: 0o027, sent: 'line\n', variables, timeoutMs: 60_000 },
    ...{ stop: new AbortController().signal, hear: (line: string) => void heard.push(line), ...setting },
  }
  const answer = new Answer({ pass: undefined, fail: undefined, read } as Settings, given)
  return { verdict: await runProgram(call, answer), heard }
}

describe.skipIf(!hasPosix)('a program', { concurrent: true }, () => {
  test.each<[does: string, script: string, isPassed: boolean, note: string, heard: string[]]>([
    ['ends with 0 and says nothing', 'cat > got', true, '', []],
    ['ends with 0', 'echo one; echo two', true, 'two', ['one', 'two']],
    ['does not read', 'exec <&-; exit 0', true, '', []],
    ['ends with 3', 'exit 3', false, 'exit code 3', []],
    ['ends with 3 and says why', 'echo a >&2; printf b >&2; exit 3', false, 'exit code 3: b', ['a', 'b']],
    ['is killed', 'echo a; kill -9 $$', false, 'exit code SIGKILL: a', ['a']],
    ['says words of a port', 'echo ERROR', true, 'ERROR', ['ERROR']],
  ])('that %s', async (_, script, isPassed, note, heard) => {
    const ended = await run(script)
    expect(ended).toMatchObject({ verdict: { isPassed, note }, heard })
    expect(ended.verdict.isStuck).toBeFalsy()
  })

  test.each([
    [`echo ICCID=${given.iccid}`, true, `ICCID=${given.iccid}`],
    ['echo ready', false, 'the program does not name the ICCID'],
    [`echo ICCID=${given.iccid}; exit 1`, false, `exit code 1: ICCID=${given.iccid}`],
  ])('that has to name the ICCID: %s', async (script, isPassed, note) => {
    expect((await run(script, { read: /ICCID=([0-9]+)/ })).verdict).toEqual({ isPassed, note })
  })

  test('that is not there, or that may not be run', async () => {
    const place = temporaryDirectory()
    const missing = await start(join(place, 'program-device'))
    const why = "can't run the program: no such file or directory (ENOENT)"
    expect(missing.verdict).toEqual({ isPassed: false, note: why })
    writeFileSync(join(place, 'text'), 'no program', { mode: 0o644 })
    expect((await start(join(place, 'text'))).verdict.note).toBe(
      "can't run the program: permission denied (EACCES)",
    )
  })

  test('reads what is sent, knows its device, and its files have the rights of its user', async () => {
    const script = 'cat > got; echo "$SOFTSIM_DEVICE $SOFTSIM_ICCID $SOFTSIM_SLOT $HOME"; umask'
    const { place, heard } = await run(script, { sent: 'AT="line"\r\n' })
    expect(readFileSync(join(place, 'got'), 'utf8')).toBe('AT="line"\r\n')
    expect(heard).toEqual([`SN-1 ${given.iccid} 3 ${process.env['HOME']}`, '0027'])
    expect(process.umask()).toBe(OWN)
  })

  test.each([
    ['when its time is over', false],
    ['at the end of the shift', true],
  ])('is ended %s, with what it has started', async (_, isStopped) => {
    const stop = new AbortController()
    const script = 'sleep 600 & echo $! > left; echo begun; mv left pid; wait'
    const place = temporaryDirectory()
    writeFileSync(join(place, 'program-device'), `#!/bin/sh\ncd "$(dirname "$0")"\n${script}\n`, {
      mode: 0o755,
    })
    const setting = { timeoutMs: isStopped ? 600_000 : 1000, stop: stop.signal }
    const running = start(join(place, 'program-device'), setting)
    const path = join(place, 'pid')
    if (isStopped) await until(() => existsSync(path))
    if (isStopped) stop.abort()
    const { verdict } = await running
    const seconds = isStopped ? 600 : 1
    expect(verdict).toEqual({ isPassed: false, note: `the program did not end in ${seconds} s` })
    // On a busy machine, its time may be over before it has started anything.
    const pid = existsSync(path) ? Number(readFileSync(path, 'utf8')) : undefined
    await until(() => pid === undefined || !isRunning(pid))
  })

  test('that ends with 0 when it is asked to end has not passed', async () => {
    const script = "trap 'exit 0' TERM; sleep 600 & wait"
    expect((await run(script, { timeoutMs: 1000 })).verdict).toEqual({
      ...{ isPassed: false, note: 'the program did not end in 1 s' },
    })
  })
})

test.runIf(hasPosix)('a program is heard to its end also if this process has to wait', async () => {
  const place = temporaryDirectory()
  const block = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
  const write = (name: string, script: string) => {
    writeFileSync(join(place, name), `#!/bin/sh\ncd "$(dirname "$0")"\n${script}\n`, { mode: 0o755 })
    return join(place, name)
  }
  const late = start(write('late', 'until [ -e go ]; do :; done; echo word; exit 3'))
  // The end of one program tells of the other's, too, before what that has said is read.
  const hear = () => {
    writeFileSync(join(place, 'go'), '')
    block(300)
    setImmediate(() => block(600))
  }
  await Promise.all([start(write('other', 'echo begun'), { hear }), block(200)])
  expect((await late).verdict.note).toBe('exit code 3: word')
})

/** Whether there is such a process; one that has ended, and that nobody has asked about, is none. */
function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
