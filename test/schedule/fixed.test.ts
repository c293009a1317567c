import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { known } from '../../scripts/torture/schedule/sweep.ts'

const SCHEDULE = fileURLToPath(new URL('../../scripts/torture/schedule.ts', import.meta.url))

/** In a process of its own, because the modules of the program are loaded in another way there. */
function run(options: readonly string[], input = ''): string[] {
  const { stdout, stderr } = spawnSync(process.execPath, [SCHEDULE, ...options], { input, encoding: 'utf8' })
  expect(stderr).toBe('')
  return stdout.trim().split('\n')
}

const ALL = known().filter(({ isLong }) => !isLong)

const KILLED = [3, 12].map((count) => `links fresh/${count} moveall+next: A?!@2h B`)

interface Verdict {
  readonly count: number
  readonly found?: object
  /** How many steps the last call makes. */
  readonly most: number
}

const verdicts = new Map<string, Verdict>(
  run(['--check'], [...ALL.map(({ schedule }) => schedule), ...KILLED].join('\n')).map((line) => {
    const { schedule, ...verdict } = JSON.parse(line)
    return [schedule, verdict]
  }),
)

test.each(ALL)('$schedule: $about', ({ schedule }) => {
  const { count = 0, found } = verdicts.get(schedule) ?? {}
  expect(count).toBeGreaterThan(0)
  expect(found).toBeUndefined()
})

test('after a move that was killed, next makes a few steps for each profile that it had begun to claim', () => {
  const [few = 0, many = 0] = KILLED.map((schedule) => verdicts.get(schedule)?.most)
  expect(few).toBeGreaterThan(0)
  expect(many - few).toBeLessThan(15 * (12 - 3))
})

test('two calls in every order of their steps with at most two changes between them', () => {
  const only =
    '^((links|nolinks) fresh/2 next.next|links fresh/2 deviceD.deviceD|links (halfmoved|given)/2 (move|back).next)$'
  const lines = run(['--set', 'pairs', '--only', only])
  expect(lines.filter((line) => line.includes('--replay'))).toEqual([])
  expect(lines[0]).toMatch(/^pairs: \d{3,} schedules .*, complete$/)
})
