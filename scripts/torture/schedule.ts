/**
 * Runs the real code of the calls step by step, in orders that schedules say:
 *
 *     node scripts/torture/schedule.ts --replay 'links fresh/2 next+next: A12 B A'
 *     node scripts/torture/schedule.ts [--set NAME,NAME] [--minutes N] [--seed S] [--only REGEXP]
 *
 * `--set` chooses what is run: those of test/schedule/schedules.txt (`sweeps`), all schedules of two calls with at most
 * two changes between them (`pairs`), all with one fault (`faults`), or with one fault and one change (`mixed`), all of
 * one call with two faults (`double`), or random ones until the time is over. Ctrl-C ends it, and it says how many it
 * has run. `--only` chooses scenarios by their names, such as 'nolinks .*deviceD'; `--share 0/2` is the first half.
 * `--check` judges the schedules on standard input, in which `?` stands for any number of steps: as JSON, one object a
 * line, with how many they are, what was found first, and how many steps their last call makes at most. `--src` names
 * the source of another version of the program. Exit code 1 means that a schedule violates a rule; schedule/judge.ts has
 * the rules.
 */
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import type { Call, Entry } from './schedule/engine.ts'
import { install } from './schedule/hooks.ts'
import { judge } from './schedule/judge.ts'
import { LOT } from './schedule/names.ts'
import { run, setSource, source } from './schedule/run.ts'
import { SETS } from './schedule/sets.ts'
import { sweep } from './schedule/sweep.ts'
import { format, parse, type Schedule } from './schedule/text.ts'
import { type Found, Trials, tryOne } from './schedule/trial.ts'

/** More would be the same mistake again and again. */
const MOST_FOUND = 20

const { values } = parseArgs({
  options: {
    src: { type: 'string' },
    replay: { type: 'string' },
    check: { type: 'boolean', default: false },
    set: { type: 'string', default: Object.keys(SETS).join() },
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    share: { type: 'string', default: '0/1' },
  },
})

if (values.src !== undefined) setSource(`${pathToFileURL(resolve(values.src)).href}/`)
install(source)
// The stacks of all the errors of a disk would take half of the time.
Error.stackTraceLimit = 0
if (values.check) await check()
else if (values.replay === undefined) await search()
else {
  Error.stackTraceLimit = 3
  await replay(parse(values.replay))
}

async function check(): Promise<void> {
  for await (const schedule of createInterface(process.stdin)) {
    let [count, most] = [0, 0]
    let found: Found | undefined
    await sweep(parse(schedule), async (each) => {
      const outcome = await tryOne(each)
      count++
      most = Math.max(most, outcome.world.calls.at(-1)?.points ?? 0)
      if (outcome.violation !== undefined) found ??= { ...outcome.violation, schedule: format(each) }
      return outcome
    })
    console.log(JSON.stringify({ schedule, count, found, most }))
  }
}

async function search(): Promise<void> {
  const [index = 0, of = 1] = values.share.split('/').map(Number)
  const until = performance.now() + Number(values.minutes) * 60_000
  let left = MOST_FOUND
  const trials = new Trials(({ rule, what, schedule }) => {
    left--
    process.exitCode = 1
    console.log(`${rule}: ${what}\n  node scripts/torture/schedule.ts --replay '${schedule}'`)
  })
  process.once('SIGINT', () => {
    left = 0
  })
  const goesOn = () => left > 0 && performance.now() < until
  for (const name of values.set.split(',')) {
    const explore = SETS[name]
    if (explore === undefined) throw new Error(`--set takes ${Object.keys(SETS).join(', ')}`)
    const [before, at] = [trials.count, performance.now()]
    await explore(trials, { index, of }, new RegExp(values.only), goesOn, Number(values.seed))
    const seconds = (performance.now() - at) / 1000
    const count = trials.count - before
    const end = name === 'random' ? '' : goesOn() ? ', complete' : ', ended early'
    const speed = Math.round(count / Math.max(seconds, 0.001))
    console.log(`${name}: ${count} schedules in ${seconds.toFixed(1)} s, ${speed} a second${end}`)
  }
  // As a part of the long tests, it only says how many.
  if (process.send?.(trials.count)) return
  for (const [name, count] of trials.counts) console.log(`${String(count).padStart(9)}  ${name}`)
  console.log(`${trials.count} schedules`)
}

function short(text: string): string {
  return text
    .replaceAll(`${LOT}/`, '')
    .replaceAll(/\d{15}(\d{5})/g, '…$1')
    .replaceAll(/[0-9a-f]{60}(?=[0-9a-f]{4})|0{8}-0000-4000-8000-/g, '…')
}

function resultOf({ value, error, name }: Entry): string {
  if (error !== undefined) return (error as NodeJS.ErrnoException).code ?? String(error)
  if (Buffer.isBuffer(value)) return short(JSON.stringify(value.toString().slice(0, 60)))
  if (Array.isArray(value)) return short(value.join(' '))
  if (typeof value === 'object' && value !== null && 'size' in value) return `${value.size} bytes`
  if (name === 'stat' && value === undefined) return 'none'
  return value === undefined || name.startsWith('open') ? '' : String(value)
}

function line(call: Call, entry: Entry): string {
  const number = entry.isPoint ? `${call.id}${call.points}` : ''
  return `${number.padEnd(5)} ${call.id} ${short(`${entry.name.padEnd(8)} ${entry.path}`).padEnd(60)} ${resultOf(entry)}`
}

/** Runs a schedule and prints all steps, and how the calls ended. */
async function replay(schedule: Schedule): Promise<void> {
  const world = await run(schedule, {
    trace: (call, entry) => {
      if (!/^(now|close|fstat)$/.test(entry.name)) console.log(line(call, entry))
    },
    segment: (_segment, call) => console.log(`-- ${call.id} goes on`),
  })
  for (const [at, { id, state, result }] of world.calls.entries()) {
    console.log(`\n${id} ${schedule.calls[at]}: ${result === undefined ? state : `exit code ${result.code}`}`)
    for (const text of result?.told ?? []) console.log(`  ${text}`)
    if (result?.error) console.log(`  error: ${result.error}\n  hint: ${result.hint}`)
    for (const print of world.prints) {
      if (print.call !== id) continue
      const whose = print.device === undefined ? '' : ` for ${print.device}`
      console.log(`  printed ${print.iccid}${whose}${print.isAgain ? ' again' : ''}`)
    }
  }
  const found = await judge(world, schedule)
  console.log(found === undefined ? '\nnothing is wrong' : `\n${found.rule}: ${found.what}`)
  process.exitCode = found === undefined ? 0 : 1
}
