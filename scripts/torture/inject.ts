/** Makes the program's system calls fail, one run for each, and looks at how it ends and what it tells. */
import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { play, pointsOf } from './kill.ts'
import { printedIn } from './program.ts'
import { makeScenes, type Scene } from './scenes.ts'
import { type Tally, Violation } from './tally.ts'
import { type Injection, touches } from './trace.ts'
import { type Case, judge, type Verdict } from './verdict.ts'
import type { Works } from './works.ts'

const ERRORS = ['ENOSPC', 'EIO', 'EROFS', 'EDQUOT', 'EACCES', 'EINTR'] as const

/** The exit codes a script may meet, but for 1: nothing that a disk does may be something nobody foresaw. */
const CODES = [0, 2, 3, 4, 5, 6, 7, 8, 9, 130]

/** A broken disk rarely breaks once; writing is left out, for the runtime writes to descriptors of its own. */
const MAY_LAST = /^(rename|link|unlink|mkdir|fsync)/

/** @throws {Violation} */
export async function failAt(works: Works, scene: Scene, injection: Injection, tally: Tally): Promise<void> {
  const each = await play(works, scene, injection)
  const isOurs = each.calls.some((call) => call.isInjected && touches(call, each.directory))
  const isOthers = each.calls.some((call) => call.isInjected && !touches(call, each.directory))
  // Calls change places between runs. The runtime's own descriptors never fail.
  if (isOurs && !isOthers) {
    tally.add('injected errors')
    const verdict = await judge(works, each)
    const problems = [...verdict.problems, ...wrongEnd(each), ...silent(each, verdict)]
    tally.add('profiles printed', verdict.printed.length)
    tally.add('claimed and not printed, and named', verdict.stuck.length)
    tally.add('received and not stored, and told', verdict.unkept.length)
    if (problems.length > 0) {
      throw new Violation(
        `${scene.name}, ${injection.effect} at ${injection.syscall} ${injection.when}: ${problems.join('; ')}\n` +
          `${each.run.stderr}see ${dirname(each.directory)}`,
      )
    }
  }
  rmSync(dirname(each.directory), { recursive: true })
}

function wrongEnd({ run, scene }: Case): string[] {
  const { code, signal, stdout, stderr, hung } = run
  const problems: string[] = []
  if (hung) problems.push('it hung')
  if (signal !== null) problems.push(`${signal} ended it`)
  if (!CODES.includes(code ?? -1)) problems.push(`it ended with ${code}`)
  if (code !== 0 && stdout !== '') problems.push('it failed and printed something')
  if (/^\s+at .*:\d+/m.test(stderr)) problems.push('it showed a stack trace')
  const expected = scene.devices?.length ?? (scene.again === undefined ? scene.takes : 1)
  if (code === 0 && printedIn(stdout).length !== expected) problems.push('it succeeded and did not print')
  return problems
}

/** What was claimed, or received, and is not told to be lost. */
function silent({ run, answers }: Case, { stuck, unkept }: Verdict): string[] {
  const problems: string[] = []
  const unnamed = stuck.filter((iccid) => !run.stderr.includes(iccid))
  if (unnamed.length > 0) problems.push(`claimed, not delivered and not named: ${unnamed.join(', ')}`)
  const named = answers.filter(([first = '']) => run.stderr.includes(first)).flat()
  // Whoever believes it has the service send them once more, into another directory maybe.
  const stored = named.filter((iccid) => !unkept.includes(iccid))
  if (run.stderr.includes("received and can't be stored") && stored.length > 0) {
    problems.push(`told not to be stored, and stored later: ${stored.join(', ')}`)
  }
  const lost = unkept.filter((iccid) => !named.includes(iccid))
  if (lost.length > 0) problems.push(`received, not stored and not told: ${lost.join(', ')}`)
  return problems
}

/** Goes through all scenes, all their calls and all errors, until the time is over. */
export async function inject(works: Works, tally: Tally, until: number): Promise<undefined> {
  while (performance.now() < until) {
    for (const scene of works.random.shuffled(await makeScenes(works))) {
      const all = (await pointsOf(works, scene)).filter(({ matters }) => matters)
      for (const { syscall, when } of works.random.shuffled(all)) {
        const error = works.random.pick(ERRORS)
        // A call that is interrupted for ever is tried for ever, as it must be.
        const lasts = error !== 'EINTR' && MAY_LAST.test(syscall) && works.random.chance(0.4)
        const injection = {
          syscall,
          when: lasts ? (`${when}+` as const) : when,
          effect: `error=${error}` as const,
        }
        await failAt(works, scene, injection, tally)
        tally.show('inject')
        if (performance.now() >= until) return undefined
      }
    }
  }
  return undefined
}
