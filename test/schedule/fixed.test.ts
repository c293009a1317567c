import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { FIXED } from './fixed.ts'

const SCHEDULE = fileURLToPath(new URL('../../scripts/torture/schedule.ts', import.meta.url))

/** In a process of its own, because the modules of the program are loaded in another way there. */
function run(options: readonly string[], input = ''): string[] {
  const { stdout, stderr } = spawnSync(process.execPath, [SCHEDULE, ...options], { input, encoding: 'utf8' })
  expect(stderr).toBe('')
  return stdout.trim().split('\n')
}

const verdicts: { schedule: string; violation?: { rule: string; what: string } }[] = run(
  ['--check'],
  FIXED.map(({ schedule }) => schedule).join('\n'),
).map((line) => JSON.parse(line))

test.each(FIXED.map(({ name, schedule }) => [name, schedule]))('%s: %s', (_name, schedule) => {
  expect(verdicts).toContainEqual({ schedule })
})

test('two calls in every order of their steps with at most two changes between them', () => {
  const only =
    '^((links|nolinks) fresh/2 (next.next|deviceD.deviceD)|links (halfmoved|given)/2 (move|back).next)$'
  const lines = run(['--set', 'pairs', '--only', only])
  expect(lines.filter((line) => line.includes('--replay'))).toEqual([])
  expect(lines[0]).toMatch(/^pairs: \d{3,} schedules .*, complete$/)
})
