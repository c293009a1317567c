/** Runs schedules one after the other, judges each of them and counts. */
import type { World } from './engine.ts'
import { judge } from './judge.ts'
import { run, type Violation } from './run.ts'
import { format, type Schedule } from './text.ts'

export interface Outcome {
  readonly world: World
  readonly violation: Violation | undefined
}

export type Trial = (schedule: Schedule) => Promise<Outcome>

export interface Found extends Violation {
  readonly schedule: string
}

export async function tryOne(schedule: Schedule): Promise<Outcome> {
  const world = await run(schedule)
  return { world, violation: await judge(world, schedule) }
}

/** A share of the scenarios: that of one process of several. */
export interface Share {
  readonly index: number
  readonly of: number
}

export const mine = <T>(all: readonly T[], { index, of }: Share) => all.filter((_, at) => at % of === index)

/** May it go on? */
export type GoesOn = () => boolean

/** Of one scenario, the rules that are violated again are not told again. */
const scenarioOf = ({ calls, start }: Schedule) => `${[...calls].sort().join('+')} ${start}`

/** Of exit codes, each message is a mistake of its own. */
const kindOf = ({ rule, what }: Violation) =>
  rule === 'codes' ? what.replaceAll(/^[A-Z] |\d{4,}|'.*'/g, '') : ''

export class Trials {
  count = 0
  readonly counts = new Map<string, number>()
  readonly #found = new Map<string, Found>()
  readonly #onFound: (found: Found) => void

  constructor(onFound: (found: Found) => void) {
    this.#onFound = onFound
  }

  /** @param name what the schedules are counted under */
  trial(name: string): Trial {
    return async (schedule) => {
      const outcome = await tryOne(schedule)
      this.count++
      this.counts.set(name, (this.counts.get(name) ?? 0) + 1)
      const { violation } = outcome
      if (violation !== undefined) await this.#add(schedule, violation)
      return outcome
    }
  }

  async #add(schedule: Schedule, violation: Violation): Promise<void> {
    const key = `${violation.rule} ${kindOf(violation)} ${scenarioOf(schedule)}`
    if (this.#found.has(key)) return
    const shortest = await shrink(schedule, violation.rule)
    const again = (await tryOne(shortest)).violation ?? violation
    const found = { ...again, schedule: format(shortest) }
    this.#found.set(key, found)
    this.#onFound(found)
  }
}

/** Leaves out what is not needed for the same rule to be violated. */
async function shrink(schedule: Schedule, rule: string): Promise<Schedule> {
  for (let at = schedule.segments.length - 1; at >= 0; at--) {
    const without = { ...schedule, segments: schedule.segments.filter((_, index) => index !== at) }
    if ((await tryOne(without)).violation?.rule === rule) return shrink(without, rule)
  }
  return schedule
}
