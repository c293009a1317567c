/** Whether V8 takes the code that was compiled for the executable: where it does not, the start is only slower. */
import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const CACHE = join(import.meta.dirname, '../../node_modules/.cache/package')

/** Tells it as start.cjs would find it: in a process of its own, since V8 asks for the same flags, too. */
const TELL = `
  const { readFileSync } = require('node:fs')
  const { Script } = require('node:vm')
  const [name] = process.argv.slice(1)
  const cachedData = readFileSync(name + '.compiled')
  const script = new Script(readFileSync(name, 'utf8'), { filename: 'softsim.cjs', cachedData })
  process.stdout.write(String(script.cachedDataRejected))
`

for (const name of ['next', 'softsim']) {
  // Empty after an executable for another system was made last.
  const size = statSync(join(CACHE, `${name}.compiled`), { throwIfNoEntry: false })?.size ?? 0
  test.skipIf(size === 0)(`V8 takes the compiled code of ${name}`, () => {
    const told = execFileSync(process.execPath, ['-e', TELL, name], { cwd: CACHE, encoding: 'utf8' })
    expect(told).toBe('false')
  })
}
