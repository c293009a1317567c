import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fstatSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openPort } from '../../src/station/port.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { hasProgram } from '../support/system.ts'

/** More than a terminal takes while nobody reads at its other end. */
const MUCH = 'x'.repeat(100_000)

test.runIf(process.platform === 'linux' && hasProgram('script'))(
  'what a device has not taken goes to no other one, whose port has the same number',
  async () => {
    const words = ['--quiet', '--command', 'tty; exec sleep 600', '/dev/null']
    const terminal = spawn('script', words, { stdio: ['pipe', 'pipe', 'ignore'] })
    try {
      const [name] = await once(terminal.stdout.setEncoding('utf8'), 'data')
      const port = openPort(name.trim(), 115_200)
      terminal.kill('SIGSTOP')
      const writing = port.write(MUCH)
      await sleep(50)
      port.close()
      // The system gives the lowest number that is free.
      const other = openSync(join(temporaryDirectory(), 'other'), 'w')
      await writing
      expect(fstatSync(other).size).toBe(0)
      closeSync(other)
    } finally {
      terminal.kill('SIGKILL')
    }
  },
)
