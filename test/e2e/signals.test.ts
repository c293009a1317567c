import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { directoryOf, namesIn, someProfiles, temporaryDirectory, usedIn } from '../support/directory.ts'
import { fullPipe } from '../support/pipe.ts'
import { catches, hasProc, isPending } from '../support/process.ts'
import { iccid } from '../support/profiles.ts'
import { type Sandbox, startSandbox } from '../support/sandbox.ts'
import { type Options, startSoftsim, until } from '../support/softsim.ts'
import { hasPosix, isRunByNode } from '../support/system.ts'

const { privateKeyPath: KEY } = inject('keys')
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

describe.skipIf(!hasPosix)('next', () => {
  const next = (directory: string, ...more: string[]) => ['next', '-k', KEY, '-i', directory, ...more]

  test.each<{ signals: NodeJS.Signals[] }>([
    { signals: ['SIGINT'] },
    { signals: ['SIGTERM'] },
    { signals: ['SIGHUP'] },
    { signals: ['SIGINT', 'SIGTERM'] },
  ])('$signals while nobody reads the output: the claimed profile is named', async ({ signals }) => {
    const directory = directoryOf(someProfiles(2))
    const pipe = fullPipe()
    const { child, ended } = startSoftsim(next(directory), { shell: `exec "$@" > ${pipe.path}` })
    await until(() => usedIn(directory).length === 1)
    for (const each of signals) child.kill(each)
    const { code, signal, stdout, stderr } = await ended
    pipe.close()
    // Either way the shell that called it sees 130.
    expect(signal ?? code).toBe(signal === null ? 130 : 'SIGINT')
    expect(stdout).toBe('')
    expect(stderr).toContain(iccid(1))
    expect(stderr).toContain(`__${iccid(1)}.json`)
  })

  /** It waits where nobody reads its standard error, at a moment between the first handler and the first claim. */
  test.skipIf(!hasProc).each(SIGNALS)('%s just before the claim: nothing is claimed', async (signal) => {
    // After the first five it goes on to others, and by then the signal has reached it.
    const directory = directoryOf(someProfiles(6))
    const before = namesIn(directory)
    const pipe = fullPipe()
    const shell = `exec "$@" 2> ${pipe.path}`
    const { child, ended } = startSoftsim(next(directory, '-n', '6', '-vv'), { shell })
    const pid = child.pid ?? 0
    // The other two have handlers of Node's own from the start.
    await until(() => catches(pid, 'SIGHUP'))
    child.kill(signal)
    await until(() => !isPending(pid, signal))
    let said = ''
    await until(() => {
      said += pipe.read()
      return child.exitCode !== null || child.signalCode !== null
    })
    said += pipe.read()
    pipe.close()
    expect(await ended).toMatchObject({ stdout: '' })
    expect(said).toMatch(/^softsim: error: interrupted; nothing was claimed$/m)
    expect(namesIn(directory)).toEqual(before)
  })
})

/** A timer of ten seconds ends at once: the Node that runs the program is spoilt for that. */
function shortTenSeconds(): Record<string, string> {
  const spoiler = join(temporaryDirectory(), 'spoiler.cjs')
  const spoilt = '(action, ms, ...more) => start(action, ms === 10_000 ? 0 : ms, ...more)'
  writeFileSync(spoiler, `const start = setTimeout\nglobalThis.setTimeout = ${spoilt}\n`)
  return { NODE_OPTIONS: `--require=${JSON.stringify(spoiler)}` }
}

describe.skipIf(!hasPosix)('fetch', { concurrent: true }, () => {
  /** A fetch that has stored its first answer, of 100 profiles, and waits for the next until it is released. */
  async function underWay(options: Options = {}) {
    const sandbox = await startSandbox()
    const { promise, resolve: release } = Promise.withResolvers<void>()
    sandbox.fault({ kind: 'none' }, { kind: 'hold', until: promise })
    const run = sandbox.startFetch(['-n', '20000'], options)
    await until(() => sandbox.allocated.size > 100 && namesIn(sandbox.directory).length === 100)
    // How large the second one is depends on how long the service took.
    return { sandbox, run, release, allocated: sandbox.allocated.size }
  }

  const expectAllStored = ({ delivered, directory }: Sandbox) =>
    expect(namesIn(directory)).toEqual([...delivered.keys()].map((each) => `${each}.json`).sort())

  test.each(SIGNALS)(
    '%s: open requests are finished and stored, and no new request is sent',
    async (signal) => {
      const { sandbox, run, release, allocated } = await underWay()
      run.child.kill(signal)
      await run.says('interrupted: waiting')
      release()
      const { code, stdout, stderr } = await run.ended
      expect([code, stdout]).toEqual([130, ''])
      expect(sandbox.requests).toHaveLength(2)
      expect(sandbox.delivered.size).toBe(allocated)
      expect(stderr).toContain(`interrupted: stored ${allocated} of 20000 profiles`)
      expectAllStored(sandbox)
    },
  )

  test.skipIf(!isRunByNode)('an open request is given up at the end of the ten seconds', async () => {
    const { sandbox, run, allocated } = await underWay({ env: shortTenSeconds() })
    run.child.kill('SIGINT')
    const { code, stdout, stderr } = await run.ended
    expect([code, stdout]).toEqual([130, ''])
    expect(stderr).toMatch(/^softsim: warning: interrupted: waiting up to 10 s /m)
    const lost = `: up to ${allocated - 100} profiles may have been allocated`
    expect(stderr).toMatch(RegExp(`^softsim: warning: 1 request failed .*${lost}`, 'm'))
    expect(stderr).toContain('interrupted: stored 100 of 20000 profiles')
    expect(sandbox.requests).toHaveLength(2)
    expectAllStored(sandbox)
  })

  test('a second signal ends it at once', async () => {
    const { sandbox, run } = await underWay()
    // Two of a kind that come together are one for the system.
    run.child.kill('SIGINT')
    run.child.kill('SIGTERM')
    const { code, stdout, stderr } = await run.ended
    expect([code, stdout]).toEqual([130, ''])
    expect(stderr).toMatch(/^softsim: warning: stopped at once: .+$/m)
    expect(stderr).not.toContain('interrupted: stored')
    expectAllStored(sandbox)
  })

  test('a signal ends the wait for the rate limit, which is reported', async () => {
    const { startFetch, fault } = await startSandbox()
    fault({ kind: 'status', status: 503, headers: { 'retry-after': '100' }, times: 10 })
    const { child, says, ended } = startFetch()
    await says('waiting')
    child.kill('SIGINT')
    const { code, stdout, stderr } = await ended
    expect([code, stdout]).toEqual([130, ''])
    expect(stderr).toMatch(/^softsim: waiting (100|9\d) s for the rate limit$/m)
  })
})
