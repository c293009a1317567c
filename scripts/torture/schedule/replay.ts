/** Prints a schedule step by step. */
import type { Call, Entry } from './call.ts'
import type { World } from './engine.ts'
import type { Violation } from './faulty.ts'
import { judge } from './judge.ts'
import { LOT } from './places.ts'
import { run } from './run.ts'
import type { Schedule } from './text.ts'

const short = (text: string) =>
  text
    .replaceAll(`${LOT}/`, '')
    .replaceAll(/\d{15}(\d{5})/g, '…$1')
    .replaceAll(/[0-9a-f]{60}(?=[0-9a-f]{4})|0{8}-0000-4000-8000-/g, '…')

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

const UNINTERESTING = new Set(['now', 'close', 'fstat'])

/** Runs a schedule and prints all steps, and how the calls ended. */
export async function replay(schedule: Schedule): Promise<Violation | undefined> {
  const world = await run(schedule, {
    trace: (call, entry) => {
      if (!UNINTERESTING.has(entry.name)) console.log(line(call, entry))
    },
    segment: (_segment, call) => console.log(`-- ${call.id} goes on`),
  })
  show(world, schedule.calls)
  const found = await judge(world, schedule)
  console.log(found === undefined ? '\nnothing is wrong' : `\n${found.rule}: ${found.what}`)
  return found
}

function show(world: World, names: readonly string[]): void {
  for (const [at, call] of world.calls.entries()) {
    const { id, state, result } = call
    console.log(`\n${id} ${names[at]}: ${result === undefined ? state : `exit code ${result.code}`}`)
    for (const text of result?.told ?? []) console.log(`  ${text}`)
    if (result?.error) console.log(`  error: ${result.error}\n  hint: ${result.hint}`)
    for (const print of world.prints) {
      if (print.call !== id) continue
      const whose = print.device === undefined ? '' : ` for ${print.device}`
      console.log(`  printed ${print.iccid}${whose}${print.isAgain ? ' again' : ''}`)
    }
  }
}
