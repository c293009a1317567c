/**
 * Runs the real code of the calls step by step, in orders that schedules say:
 *
 *     node scripts/torture/schedule.ts --replay 'ext4 fresh/2 next+next: A12 B A'
 *     node scripts/torture/schedule.ts [--set NAME,NAME] [--minutes N] [--seed S] [--only REGEXP] [--share 0/2]
 *     node scripts/torture/schedule.ts --mutants [--only REGEXP]
 *
 * `--set` chooses what is run: the sets of schedule/sets.ts, the families of test/schedule/schedules.txt (`sweeps`), and
 * `random` ones until the time is over. `--only` chooses families by their texts; `--share 0/2` is every second one. The last
 * line says which sets were complete. `--check` judges the families on standard input, in which `?` stands for any number of
 * steps: as JSON, one object a line, with how many schedules they are and what was found first. `--mutants` breaks the
 * program in each way of schedule/mutants.ts, and checks that its schedules find it. `--src` names the source of another
 * version of the program. With `--after`, `--replay` prints the steps of what comes after a schedule, too. Exit code 1 means that a schedule violates a rule; schedule/rules.ts has the rules.
 */
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { Random } from './random.ts'
import type { Call, Entry } from './schedule/engine.ts'
import { install } from './schedule/hooks.ts'
import { findMutants } from './schedule/mutants.ts'
import { LOT } from './schedule/names.ts'
import { OWN } from './schedule/program.ts'
import { judge } from './schedule/rules.ts'
import { run, setSource, source } from './schedule/run.ts'
import { anyOf, explore, SETS } from './schedule/sets.ts'
import { sweep } from './schedule/sweep.ts'
import { format, nameOf, parse, type Schedule } from './schedule/text.ts'
import { type Found, Trials, tryOne } from './schedule/trial.ts'

/** More would be the same mistake again and again. */
const MOST_FOUND = 20

const { values } = parseArgs({
  options: {
    src: { type: 'string' },
    replay: { type: 'string' },
    check: { type: 'boolean', default: false },
    after: { type: 'boolean', default: false },
    mutants: { type: 'boolean', default: false },
    set: { type: 'string', default: ['sweeps', ...Object.keys(SETS), 'random'].join() },
    minutes: { type: 'string', default: '90' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    share: { type: 'string', default: '0/1' },
  },
})

if (values.src !== undefined) setSource(`${pathToFileURL(resolve(values.src)).href}/`)
const only = new RegExp(values.only)
if (values.mutants) process.exitCode = (await findMutants(only)) ? 0 : 1
else {
  install(source, OWN)
  // The stacks of all the errors of a disk would take half of the time.
  Error.stackTraceLimit = 0
  if (values.check) await check()
  else if (values.replay === undefined) await search()
  else {
    Error.stackTraceLimit = 5
    await replay(parse(values.replay))
  }
}

async function check(): Promise<void> {
  for await (const schedule of createInterface(process.stdin)) {
    let count = 0
    let found: Found | undefined
    await sweep(parse(schedule), async (each) => {
      const outcome = await tryOne(each)
      count++
      if (outcome.violation !== undefined) found ??= { ...outcome.violation, schedule: format(each) }
      return outcome
    })
    console.log(JSON.stringify({ schedule, count, found }))
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
  const complete: string[] = []
  for (const name of values.set.split(',')) {
    const [before, at] = [trials.count, performance.now()]
    if (name === 'random') {
      const random = new Random(Number(values.seed) + index)
      while (goesOn()) {
        const schedule = anyOf(random)
        if (only.test(nameOf(schedule))) await trials.trial('random')(schedule)
      }
    } else if (await explore(name, trials, { share: { index, of }, only, goesOn })) complete.push(name)
    const seconds = (performance.now() - at) / 1000
    const count = trials.count - before
    console.log(`${name}: ${count} schedules in ${seconds.toFixed(1)} s`)
  }
  if (process.send?.({ count: trials.count, complete })) return
  const share = of > 1 ? ` (share ${values.share})` : ''
  console.log(`${trials.count} schedules; complete: ${complete.join(', ') || 'none'}${share}`)
}

function short(text: string): string {
  return text
    .replaceAll(`${LOT}/`, '')
    .replaceAll(/\d{15}(\d{5})/g, '…$1')
    .replaceAll(/[0-9a-f]{60}(?=[0-9a-f]{4})|40008000\d{4}(?=\d{8})|0{8}-0000-4000-8000-/g, '…')
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
    console.log(`\n${id} ${schedule.calls[at]}: ${result === undefined ? state : result.outcome}`)
    for (const text of result?.told ?? []) console.log(`  ${text}`)
    if (result?.error) console.log(`  error: ${result.error}\n  hint: ${result.hint}`)
    for (const print of world.prints) {
      if (print.call !== id) continue
      const whose = print.device === undefined ? '' : ` for ${print.device}`
      console.log(`  printed ${print.iccid}${whose}${print.isAgain ? ' again' : ''}`)
    }
  }
  if (!values.after) world.trace = undefined
  const found = await judge(world, schedule)
  console.log(found === undefined ? '\nnothing is wrong' : `\n${found.rule}: ${found.what}`)
  process.exitCode = found === undefined ? 0 : 1
}
