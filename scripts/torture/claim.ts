/**
 * Races the claim itself, without the rest of the program: stations go through the same files at the same time, and
 * one of them must win each. It runs in any directories, so it tells whether a file server is safe.
 */
import { mkdirSync } from 'node:fs'
import { Course, FILES, type Race, type Result } from './course.ts'
import { type Tally, Violation } from './tally.ts'
import type { Works } from './works.ts'

const RACES: readonly Race[] = [
  { name: 'claims in lockstep', ways: ['claim', 'claim'], isTimed: false },
  { name: 'claims at the same instant', ways: ['claim', 'claim'], isTimed: true },
  { name: 'claims that come back, in lockstep', ways: ['back', 'back'], isTimed: false },
  { name: 'claims that come back, at the same instant', ways: ['back', 'claim'], isTimed: true },
  { name: 'claims and bare renames, in lockstep', ways: ['claim', 'bare rename'], isTimed: false },
  { name: 'claims and bare renames, at the same instant', ways: ['claim', 'bare rename'], isTimed: true },
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
  const results = new Map(RACES.map((race) => [race, none()]))
  try {
    for (let turn = 0; turn < RACES.length || performance.now() < until; turn++) {
      const [race, result] = [...results][turn % RACES.length] ?? []
      if (race !== undefined && result !== undefined) add(result, await course.run(race))
      tally.add('files raced for', FILES)
      tally.show('claim')
    }
  } finally {
    course.close()
  }
  for (const [{ name }, result] of results) tally.note(`${name}: ${told(result)}`)
  const problems = [...results].flatMap(([race, result]) => problemsOf(race, result, given === undefined))
  if (problems.length > 0) throw new Violation(problems.join('\n'))
}

const none = (): Result => ({
  files: 0,
  won: [],
  byMore: 0,
  byNobody: 0,
  lost: 0,
  unmarked: 0,
  failures: [],
})

function add(sum: Result, { won, failures, ...counts }: Result): void {
  for (const [at, count] of won.entries()) sum.won[at] = (sum.won[at] ?? 0) + count
  sum.failures.push(...failures)
  for (const [what, count] of Object.entries(counts)) sum[what as keyof typeof counts] += count
}

/** All counts of a race in one line. */
function told({ files, won, byMore, byNobody, lost, unmarked, failures }: Result): string {
  const [first] = failures
  return [
    `${files} files`,
    `won ${won.join(' + ')}`,
    `by more than one ${byMore}`,
    `by nobody ${byNobody}`,
    `not marked used ${unmarked}`,
    `contents lost ${lost}`,
    `failed calls ${failures.length}${first === undefined ? '' : ` (${first})`}`,
  ].join(', ')
}

/**
 * What must not be. Where a bare rename wins what a claim has won, stations that only rename are not safe beside ours:
 * that is told, but it is a fault on a disk of this machine alone, and not on Windows.
 */
function problemsOf({ name, ways }: Race, result: Result, isOwnDisk: boolean): string[] {
  const areAllClaims = !ways.includes('bare rename')
  const isExclusive = areAllClaims || (isOwnDisk && process.platform !== 'win32')
  return [
    [result.lost, 'lost their contents'],
    [result.unmarked, 'were won and not marked used'],
    [isExclusive ? result.byMore : 0, 'were won by more than one station'],
    [areAllClaims ? result.failures.length : 0, 'made a call fail'],
  ].flatMap(([count, what]) => (count === 0 ? [] : `${name}: ${count} files ${what}`))
}
