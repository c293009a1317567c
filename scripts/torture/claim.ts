/**
 * Races the claim itself, without the rest of the program: stations go through the same files at the same time, and
 * one of them must win each. It runs in any directories, so it tells whether a file server is safe.
 */
import { mkdirSync } from 'node:fs'
import type { Way } from './claimant.ts'
import { type Counts, Course, FILES } from './course.ts'
import { type Tally, Violation } from './tally.ts'
import type { Works } from './works.ts'

/** What every other station does; timed: each file has an instant of its own, else they go as fast as they can. */
const RACES: [name: string, ways: readonly [Way, Way], isTimed: boolean][] = [
  ['claims in lockstep', ['claim', 'claim'], false],
  ['claims at the same instant', ['claim', 'claim'], true],
  ['claims that come back, in lockstep', ['back', 'back'], false],
  ['claims that come back, at the same instant', ['back', 'claim'], true],
  ['claims and bare renames, in lockstep', ['claim', 'bare rename'], false],
  ['claims and bare renames, at the same instant', ['claim', 'bare rename'], true],
]

/**
 * Races until the time is over, each race once at least, and says how each went.
 * @param given one directory as each station sees it; none for one on a disk of this machine
 * @throws {Violation}
 */
export async function raceClaims(
  works: Works,
  tally: Tally,
  until: number,
  given?: readonly string[],
): Promise<undefined> {
  const own = works.newPath()
  mkdirSync(own)
  const course = await Course.open(given ?? [own], works.random)
  const sums = RACES.map(() => ({}) as Counts)
  const failures = RACES.map((): string[] => [])
  try {
    for (let turn = 0; turn < RACES.length || performance.now() < until; turn++) {
      const at = turn % RACES.length
      const [, ways, isTimed] = RACES[at] ?? (['', ['claim', 'claim'], false] as const)
      const result = await course.run(ways, isTimed)
      for (const [what, count] of Object.entries(result.counts))
        sums[at] = { ...sums[at], [what]: (sums[at]?.[what] ?? 0) + count }
      failures[at]?.push(...result.failures)
      tally.add('files raced for', FILES)
      tally.show('claim')
    }
  } finally {
    course.close()
  }
  const problems = RACES.flatMap(([name, ways], at) => {
    const sum = sums[at] ?? {}
    const [first] = failures[at] ?? []
    const counts = Object.entries(sum).map(([what, count]) => `${what} ${count}`)
    tally.note(`${name}: ${counts.join(', ')}${first === undefined ? '' : ` (${first})`}`)
    return faultsIn(ways, given === undefined)
      .filter((what) => (sum[what] ?? 0) > 0)
      .map((what) => `${name}: ${what} ${sum[what]}`)
  })
  if (problems.length > 0) throw new Violation(problems.join('\n'))
}

/**
 * What must not be. Where a bare rename wins what a claim has won, stations that only rename are not safe beside ours:
 * that is told, but it is a fault on a disk of this machine alone, and not on Windows.
 */
function faultsIn(ways: readonly Way[], isOwnDisk: boolean): string[] {
  const areAllClaims = !ways.includes('bare rename')
  const isExclusive = areAllClaims || (isOwnDisk && process.platform !== 'win32')
  return [
    ...['contents lost', 'not marked used'],
    ...(isExclusive ? ['by more than one'] : []),
    ...(areAllClaims ? ['failed calls'] : []),
  ]
}
