/** Whether V8 takes the code that was compiled for the executable: where it does not, the start is only slower. */
import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const CACHE = join(import.meta.dirname, '../../node_modules/.cache/package')

// Empty after an executable for another system was made last.
const size = statSync(join(CACHE, 'compiled'), { throwIfNoEntry: false })?.size ?? 0

/** Tells it as start.cjs would find it: in a process of its own, since V8 asks for the same flags, too. */
const TELL = `
  const { readFileSync } = require('node:fs')
  const { Script } = require('node:vm')
  const cachedData = readFileSync('compiled')
  const script = new Script(readFileSync('program', 'utf8'), { filename: 'softsim.cjs', cachedData })
  process.stdout.write(String(script.cachedDataRejected))
`

test.skipIf(size === 0)('V8 takes the compiled code', () => {
  const told = execFileSync(process.execPath, ['-e', TELL], { cwd: CACHE, encoding: 'utf8' })
  expect(told).toBe('false')
})
