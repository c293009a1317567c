import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { known } from '../../scripts/torture/schedule/sets.ts'

const SCHEDULE = fileURLToPath(new URL('../../scripts/torture/schedule.ts', import.meta.url))

interface Verdict {
  readonly schedule: string
  readonly count: number
  readonly found?: object
}

/** In a process of its own, because the modules of the program are loaded in another way there. */
function check(schedules: readonly string[]): Map<string, Verdict> {
  const options = { input: schedules.join('\n'), encoding: 'utf8' } as const
  const { stdout, stderr } = spawnSync(process.execPath, [SCHEDULE, '--check'], options)
  expect(stderr).toBe('')
  const verdicts = stdout
    .trim()
    .split('\n')
    .map((line): Verdict => JSON.parse(line))
  return new Map(verdicts.map((each) => [each.schedule, each]))
}

const verdicts = check(known().map(({ schedule }) => schedule))

test.each(known())('$schedule: $about', ({ schedule }) => {
  const { count = 0, found } = verdicts.get(schedule) ?? {}
  expect(count).toBeGreaterThan(1)
  expect(found).toBeUndefined()
})
