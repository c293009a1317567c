import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { namesIn, temporaryDirectory } from '../support/directory.ts'
import { type Sandbox, startSandbox } from '../support/sandbox.ts'
import { type Options, until } from '../support/softsim.ts'
import { hasPosix, isRunByNode } from '../support/system.ts'

const SIGNALS = ['SIGINT', 'SIGHUP'] as const

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
    return { sandbox, run, release, open: sandbox.allocated.size - 100 }
  }

  const expectAllStored = ({ delivered, directory }: Sandbox) =>
    expect(namesIn(directory)).toEqual([...delivered.keys()].map((each) => `${each}.json`).sort())

  test.each(SIGNALS)('%s: open requests are finished and stored, and no new one is sent', async (signal) => {
    const { sandbox, run, release, open } = await underWay()
    run.child.kill(signal)
    await run.says('interrupted: waiting')
    release()
    const { code, stdout, stderr } = await run.ended
    expect([code, stdout]).toEqual([130, ''])
    expect(sandbox.requests).toHaveLength(2)
    expect(sandbox.delivered.size).toBe(100 + open)
    const waiting = 'interrupted: waiting up to 10 s for pending requests; press Ctrl-C again to stop at once'
    expect(stderr.split('\n')[0]).toBe(`softsim: warning: ${waiting}`)
    expect(stderr).toContain(`interrupted: stored ${100 + open} of 20000 profiles`)
    expectAllStored(sandbox)
  })

  test.skipIf(!isRunByNode)('an open request is given up at the end of the ten seconds', async () => {
    const { sandbox, run, open } = await underWay({ env: shortTenSeconds() })
    run.child.kill('SIGINT')
    const { code, stdout, stderr } = await run.ended
    expect([code, stdout]).toEqual([130, ''])
    expect(stderr).toMatch(/^softsim: warning: interrupted: waiting up to 10 s /m)
    expect(stderr).toContain(
      `\nsoftsim: warning: up to ${open} profiles may have been allocated and not received, `,
    )
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
    expect(stderr).toContain(
      'softsim: warning: stopped at once: the next fetch or next stores the profiles already received; those of pending requests are lost\n',
    )
    expect(stderr).not.toContain('interrupted: stored')
    expectAllStored(sandbox)
  })
})
