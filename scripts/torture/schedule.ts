/**
 * Runs the real code of the calls step by step, in orders that schedules say:
 *
 *     node scripts/torture/schedule.ts --replay 'links fresh/2 next+next: A12 B A'
 *     node scripts/torture/schedule.ts [--set sweeps,pairs,faults,double,random] [--minutes N] [--seed S] [--only REGEXP] [--stop]
 *
 * `--set` chooses what is run: those of test/schedule/sweeps.ts, all schedules of two calls with at most two changes between them, all with one fault and
 * one change, all of one call with two faults, or random ones until the time is over. `--only` chooses scenarios by their names, such as
 * 'nolinks .*deviceD'; `--share 0/2` is the first half of them. `--check` judges the schedules on standard input, in which `?`
 * stands for any number of steps; `--steps` prints how long their last call is at most,
 * `--order` which rules of schedule/order.ts they violate.
 * `--src` names the source of another version of the program. With `--lines` and `--check`, the output is JSON, one
 * object a line. Exit code 1 means that a schedule violates a rule; schedule/judge.ts has the rules.
 */
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { install } from './schedule/hooks.ts'
import { order } from './schedule/order.ts'
import { replay } from './schedule/replay.ts'
import { run, setSource, source } from './schedule/run.ts'
import { completeFaults, completePairs, doubleFaults, randomly } from './schedule/sets.ts'
import { sweep, sweeps } from './schedule/sweep.ts'
import { format, parse } from './schedule/text.ts'
import { type Found, Trials, tryOne } from './schedule/trial.ts'

const MOST_FOUND = 20

const { values } = parseArgs({
  options: {
    src: { type: 'string' },
    replay: { type: 'string' },
    check: { type: 'boolean', default: false },
    steps: { type: 'boolean', default: false },
    order: { type: 'boolean', default: false },
    set: { type: 'string', default: 'sweeps,pairs,faults,double,random' },
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    share: { type: 'string', default: '0/1' },
    stop: { type: 'boolean', default: false },
    lines: { type: 'boolean', default: false },
    most: { type: 'string', default: String(MOST_FOUND) },
  },
})

if (values.src !== undefined) setSource(`${pathToFileURL(resolve(values.src)).href}/`)
install(source)
// The stacks of all the errors of a disk would take half of the time.
Error.stackTraceLimit = 0
if (values.check) await check()
else if (values.steps) await steps()
else if (values.order) await orders()
else if (values.replay === undefined) await search()
else {
  Error.stackTraceLimit = 3
  const found = await replay(parse(values.replay))
  process.exitCode = found === undefined ? 0 : 1
}

/** Judges the schedules on standard input, one a line. */
async function check(): Promise<void> {
  for await (const schedule of createInterface(process.stdin)) {
    let count = 0
    let found: Found | undefined
    await sweep(schedule, async (each) => {
      count++
      const outcome = await tryOne(each)
      if (outcome.violation !== undefined) found ??= { ...outcome.violation, schedule: format(each) }
      return outcome
    })
    console.log(JSON.stringify({ schedule, count, found }))
  }
}

/** Prints how many steps the last call makes at most, in the schedules on standard input. */
async function steps(): Promise<void> {
  for await (const schedule of createInterface(process.stdin)) {
    let most = 0
    await sweep(schedule, async (each) => {
      const world = await run(each)
      most = Math.max(most, world.calls.at(-1)?.points ?? 0)
      return { world, violation: undefined }
    })
    console.log(JSON.stringify({ schedule, most }))
  }
}

/** Prints which rules of schedule/order.ts the schedules on standard input violate. */
async function orders(): Promise<void> {
  for await (const schedule of createInterface(process.stdin)) {
    const found = new Set<string>()
    await sweep(schedule, async (each) => {
      const { world, violations } = await order(each)
      for (const what of violations) found.add(`${format(each)}: ${what}`)
      return { world, violation: undefined }
    })
    console.log(JSON.stringify({ schedule, found: [...found] }))
  }
}

async function search(): Promise<void> {
  const { seed, lines } = values
  const [index = 0, of = 1] = values.share.split('/').map(Number)
  const only = new RegExp(values.only)
  const began = performance.now()
  const until = began + Number(values.minutes) * 60_000
  let found = 0
  const trials = new Trials((each) => {
    found++
    process.exitCode = 1
    console.log(lines ? JSON.stringify({ found: each }) : shown(each))
  })
  let isOver = false
  let saidAt = began
  const goesOn = () => !isOver && found < (values.stop ? 1 : Number(values.most)) && performance.now() < until
  const sets = {
    pairs: () => completePairs(trials, { index, of }, only, goesOn),
    faults: () => completeFaults(trials, { index, of }, only, goesOn),
    sweeps: () => sweeps(trials, { index, of }, only, goesOn),
    double: () => doubleFaults(trials, { index, of }, only, goesOn),
    random: () => randomly(trials, Number(seed) + index, only, goesOn),
  }
  const say = () => {
    const now = performance.now()
    saidAt = now
    if (lines) console.log(JSON.stringify({ count: trials.count, seconds: (now - began) / 1000 }))
  }
  const ticking = setInterval(() => performance.now() - saidAt > 1000 && say(), 1000)
  for (const name of values.set.split(',')) {
    if (!(name in sets)) throw new Error('--set takes sweeps, pairs, faults, double, random')
    const [before, at] = [trials.count, performance.now()]
    await sets[name as keyof typeof sets]()
    const seconds = (performance.now() - at) / 1000
    const count = trials.count - before
    const end = name === 'random' ? '' : goesOn() ? ', complete' : ', ended early'
    const speed = Math.round(count / Math.max(seconds, 0.001))
    const text = `${name}: ${count} schedules in ${seconds.toFixed(1)} s, ${speed} a second${end}`
    console.log(lines ? JSON.stringify({ note: text }) : text)
  }
  isOver = true
  clearInterval(ticking)
  say()
  if (!lines) {
    for (const [name, count] of trials.counts) console.log(`${String(count).padStart(9)}  ${name}`)
    console.log(`${trials.count} schedules`)
  }
}

function shown({ rule, what, schedule }: Found): string {
  const again = `  node scripts/torture/schedule.ts --replay '${schedule}'`
  return `${rule}: ${what}\n${again}`
}
