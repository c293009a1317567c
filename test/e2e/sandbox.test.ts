import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { until } from '../support/softsim.ts'
import { hasProgram } from '../support/system.ts'

/** Starts the sandbox. @returns the lines that it says to type */
async function startSandbox(args: readonly string[] = [], cwd = inject('root')) {
  const env = { ...process.env, INIT_CWD: cwd }
  const child = spawn(process.execPath, ['scripts/sandbox.ts', ...args], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    printed += text
  })
  await until(() => /(profiles|real)\.\n$/.test(printed) || child.exitCode !== null)
  return { child, typed: printed.split('\n').filter((line) => line.startsWith('  ')) }
}

const type = (lines: readonly string[], ...options: string[]) =>
  execFileSync('bash', options, {
    input: lines.join('\n'),
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'inherit'],
  })

describe.skipIf(process.platform === 'win32' || !hasProgram('bash'))('the sandbox', () => {
  test('what it prints can be typed line by line', async () => {
    const { child, typed } = await startSandbox()
    const [, , change = ''] = typed
    // The last command is that of a station, which asks for a serial number.
    typed.push('SN-0043', '')
    const output = type(typed, '-e')
    expect(output).toMatch(/^ {2}unused +\d+$/m)
    // The device of the README, and the one of the station.
    expect(output).toMatch(/(\n[0-9a-f]{200,}){2}\n$/)
    const [, directory = ''] = /'(.*)'/.exec(change) ?? []
    expect(existsSync(directory)).toBe(true)
    child.kill('SIGINT')
    await once(child, 'close')
    expect(existsSync(directory)).toBe(false)
  })

  test('a rehearsal with one’s own key, on a bad day, until the profiles run out', async () => {
    const directory = mkdtempSync(join(inject('root'), 'rehearsal-'))
    const { privateKeyPath, publicKey } = inject('keys')
    copyFileSync(privateKeyPath, join(directory, 'softsim.pem'))
    writeFileSync(join(directory, 'softsim.public.pem'), publicKey)
    const args = ['--public-key', 'softsim.public.pem', '--supply', '8', '--faults']
    const { child, typed } = await startSandbox(args, directory)
    const [path = '', settings = '', change = ''] = typed
    expect(change).toContain(directory)
    const output = type([
      path,
      settings,
      change,
      'softsim fetch -n 4 -o profiles; softsim fetch -n 9 -o profiles; echo "exit $?"',
      'softsim next -k softsim.pem -i profiles --device SN-1',
    ])
    // The line that is cut has lost two.
    expect(output).toMatch(/^exit 8\n[0-9a-f]{200,}\n$/)
    expect(readdirSync(join(directory, 'profiles')).filter((name) => /json$/.test(name))).toHaveLength(6)
    child.kill('SIGINT')
    await once(child, 'close')
  })
})
