import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const TORTURE = fileURLToPath(new URL('../../scripts/torture.ts', import.meta.url))

/** Where there are no programs to be found. */
const env = { ...process.env, PATH: '', Path: '' }

async function torture(...options: string[]): Promise<string[]> {
  const line = [TORTURE, '--seed', '1', '--minutes', '0.0001', ...options]
  const { stdout } = await promisify(execFile)(process.execPath, line, { env })
  return stdout.trim().split('\n')
}

test('the torture says first and last what it leaves out, and why', async () => {
  const [, first, second, ...rest] = await torture('--only', 'kill,sshfs')
  expect(first).toMatch(/^left out: kill: (there is no strace|strace is for Linux)$/)
  expect(second).toMatch(/^left out: sshfs: there is no ssh/)
  expect(rest.slice(-2)).toEqual([first, second])
})

test('the torture races claims on a disk of this machine, and none is won twice', async () => {
  const lines = await torture('--only', 'claim')
  expect(lines).toContain('nothing is left out')
  const races = lines.filter((line) => /^claims .*: 100 files, won/.test(line))
  expect(races).toHaveLength(6)
  const claimsAlone = races.filter((line) => !line.includes('bare renames'))
  expect(claimsAlone.filter((line) => line.includes('by more than one 0, by nobody 0'))).toHaveLength(4)
})
