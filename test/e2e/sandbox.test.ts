import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../support/softsim.ts'
import { hasProgram } from '../support/system.ts'

test.skipIf(process.platform === 'win32' || !hasProgram('bash'))(
  'the sandbox: what it prints can be typed line by line',
  async () => {
    const sandbox = spawn(process.execPath, ['scripts/sandbox.ts'], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void sandbox.kill('SIGKILL'))
    let printed = ''
    sandbox.stdout.setEncoding('utf8').on('data', (text) => {
      printed += text
    })
    await until(() => printed.includes('Ctrl-C here'))
    const typed = printed.split('\n').filter((line) => line.startsWith('  '))
    const [, , change = ''] = typed
    // The last command is that of a station, which asks for a serial number.
    if (process.platform === 'linux') typed.push('SN-0043', '')
    const output = execFileSync('bash', ['-e'], {
      input: typed.join('\n'),
      encoding: 'utf8',
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    expect(output).toContain('  unused                        1000')
    expect(output).toMatch(/SN-0042 +89880000000000000116/)
    if (process.platform === 'linux') expect(output).toMatch(/\n[0-9a-f]{200,}\n$/)
    const [, directory = ''] = /'(.*)'/.exec(change) ?? []
    expect(existsSync(directory)).toBe(true)
    sandbox.kill('SIGINT')
    await once(sandbox, 'close')
    expect(existsSync(directory)).toBe(false)
  },
)
