/** Kills the program at its system calls, one run for each, and looks at what the next call makes of it. */
import { cpSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { run } from './program.ts'
import { AS_IT_WAS, makeScenes, rig, type Scene } from './scenes.ts'
import { look } from './sight.ts'
import { type Tally, Violation } from './tally.ts'
import { type Injection, type Point, points, readCalls, touches, traced } from './trace.ts'
import { type Case, judge } from './verdict.ts'
import type { Works } from './works.ts'

/** Of the calls that have nothing to do with the directory, mostly of the runtime's start, only some are tried. */
const SHARE_OF_OTHERS = 0.15

/** One thread that flushes makes the calls' order the same in every run; several make it a race. */
const THREADS = ['1', '1', '4', '16']

/** No scene takes all the time. */
const MOST_POINTS = 100

/** Runs a scene in a copy of its directory, with or without a fault. */
export async function play(works: Works, scene: Scene, injection?: Injection, threads = '1'): Promise<Case> {
  const directory = works.newPath()
  if (scene.template !== undefined) cpSync(scene.template, directory, AS_IT_WAS)
  const log = join(dirname(directory), 'trace')
  const before = look(directory)
  const delivered = works.service.delivered.size
  rig(works, scene)
  const ended = await run(scene.line(directory), {
    under: traced(log, injection),
    env: { UV_THREADPOOL_SIZE: threads },
  })
  const fresh = works.deliveredSince(delivered)
  const answers = scene.answers.map((size) => fresh.splice(0, size))
  if (scene.answers.length > 1) await works.renewService()
  const calls = readCalls(readFileSync(log, 'utf8'))
  return { scene, directory, before, run: ended, calls, after: look(directory), answers }
}

/** Every point of a scene at which it can be killed. */
export async function pointsOf(works: Works, scene: Scene, threads?: string): Promise<Point[]> {
  const { run, calls, directory } = await play(works, scene, undefined, threads)
  if (run.code !== 0)
    throw new Violation(`${scene.name} ended with ${run.code} in ${directory}: ${run.stderr}`)
  return points(calls, (call) => touches(call, directory))
}

/** @throws {Violation} */
export async function killAt(works: Works, scene: Scene, point: Point, tally: Tally, threads?: string) {
  const { syscall, when } = point
  const each = await play(works, scene, { syscall, when, effect: 'signal=SIGKILL' }, threads)
  const isKilled = each.run.signal === 'SIGKILL' && !each.run.hung
  tally.add(isKilled ? 'kills' : 'runs that ended before the kill')
  const verdict = await judge(works, each)
  if (!isKilled && each.run.code !== 0) verdict.problems.push(`it ended with ${each.run.code}`)
  tally.add('profiles printed', verdict.printed.length)
  tally.add('claimed and not printed', verdict.stuck.length)
  tally.add('delivered, but killed before they were saved', verdict.unkept.length)
  tally.add('responses left to a process with the same number', verdict.waiting)
  if (verdict.problems.length > 0) {
    throw new Violation(
      `${scene.name}, killed at ${syscall} ${when}: ${verdict.problems.join('; ')}\nsee ${dirname(each.directory)}`,
    )
  }
  rmSync(dirname(each.directory), { recursive: true })
}

/** Goes through all scenes and all their calls, again and again until the time is over. */
export async function kill(works: Works, tally: Tally, until: number): Promise<undefined> {
  while (performance.now() < until) {
    const threads = works.random.pick(THREADS)
    for (const scene of works.random.shuffled(await makeScenes(works))) {
      const all = works.random.shuffled(await pointsOf(works, scene, threads))
      for (const point of all.slice(0, MOST_POINTS)) {
        if (!point.matters && !works.random.chance(SHARE_OF_OTHERS)) continue
        await killAt(works, scene, point, tally, threads)
        tally.show('kill')
        if (performance.now() >= until) return undefined
      }
    }
  }
  return undefined
}
