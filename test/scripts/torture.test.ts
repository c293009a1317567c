import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { MUTANTS } from '../../scripts/torture/schedule/mutants.ts'

const TORTURE = fileURLToPath(new URL('../../scripts/torture.ts', import.meta.url))

/** Where there are no programs to be found. */
const env = { ...process.env, PATH: '', Path: '' }

async function torture(...options: string[]): Promise<string[]> {
  const line = [TORTURE, '--seed', '1', '--minutes', '0.0001', ...options]
  const { stdout } = await promisify(execFile)(process.execPath, line, { env })
  return stdout.trim().split('\n')
}

test('npm run torture prints what it skips, and why, at the beginning and at the end', async () => {
  const [, first, second, ...rest] = await torture('--only', 'power,sshfs')
  expect(first).toMatch(
    /^skipped: power: (it runs only on Linux|mounting needs root|there are no loop devices)$/,
  )
  expect(second).toMatch(/^skipped: sshfs: there is no ssh/)
  expect(rest.slice(-2)).toEqual([first, second])
})

test('npm run torture refuses parts that it does not have', async () => {
  await expect(torture('--only', 'claim')).rejects.toThrow('--only takes one or more of schedule,power,')
})

test.each(MUTANTS)('the source still has what is broken to show that it is found: $law', ({ file, text }) => {
  const source = readFileSync(new URL(`../../src/${file}`, import.meta.url), 'utf8')
  expect(source.split(text)).toHaveLength(2)
})
