/**
 * The long tests that nothing is handed out twice and nothing is lost:
 *
 *     node scripts/torture.ts [--minutes N] [--seed S] [--only schedule,power,pull,race,sshfs]
 *     node scripts/torture.ts --only race --dirs A,B
 *
 * It runs calls step by step in every order, kills the program, cuts the power under its file system, pulls its disk
 * out, and runs many processes that compete. SOFTSIM_BIN names a build other than
 * this system's executable. `--dirs` races in a directory of yours, such as a share; name it once for each station, with
 * the path that the station sees. At the beginning and the end, the script prints what it skips on this machine. Exit
 * code 1 means that something was taken twice or lost, or that a call did not do what it promises; the script leaves
 * that directory unchanged.
 */
import { fork } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { unmountAll, whyNoImages, withoutKinds } from './torture/image.ts'
import { power } from './torture/power.ts'
import { pull } from './torture/pull.ts'
import { race, sshfs, whyNoSshfs } from './torture/race.ts'
import { Random } from './torture/random.ts'
import { Violation } from './torture/tally.ts'
import { openWorks, type Works } from './torture/works.ts'

interface Part {
  /** Of the time. */
  readonly share: number
  /** Why it can't be done here. */
  readonly whyNot?: () => string | undefined
  /** What it leaves out here, and why. */
  readonly without?: () => string[]
  /** @returns why it could not be done after all */
  readonly run: (works: Works, until: number) => Promise<string | undefined>
}

const images = { whyNot: whyNoImages, without: withoutKinds }

const PARTS: Record<string, Part> = {
  schedule: { share: 0.1, run: schedules },
  power: { share: 0.55, ...images, run: power },
  pull: { share: 0.1, ...images, run: pull },
  race: { share: 0.15, run: (...all) => race(...all, values.dirs?.split(',')) },
  sshfs: { share: 0.05, whyNot: whyNoSshfs, run: sshfs },
}

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(randomInt(2 ** 32)) },
    only: { type: 'string', default: Object.keys(PARTS).join(',') },
    dirs: { type: 'string' },
    mutants: { type: 'boolean', default: false },
  },
})

process.on('exit', unmountAll)
process.on('SIGINT', () => process.exit(130))
process.on('SIGTERM', () => process.exit(143))

const minutes = Number(values.minutes)
const seed = Number(values.seed)
const only = values.only.split(',')
const chosen = Object.entries(PARTS).filter(([name]) => only.includes(name))
if (chosen.length < only.length)
  throw new Error(`--only takes one or more of ${Object.keys(PARTS).join(',')}`)
if (!(minutes > 0)) throw new Error('--minutes takes a number above 0')
if (!Number.isSafeInteger(seed)) throw new Error('--seed takes a whole number')
if (values.dirs !== undefined && values.only !== 'race') throw new Error('--dirs requires --only race')

const leftOut = chosen.flatMap(([name, { whyNot, without }]) => {
  const reason = whyNot?.()
  if (reason !== undefined) return [`${name}: ${reason}`]
  return without?.().map((which) => `${name} on ${which}`) ?? []
})
const sayWhatIsLeftOut = () => {
  for (const what of leftOut) console.log(`skipped: ${what}`)
  if (leftOut.length === 0) console.log('nothing is skipped')
}

const possible = chosen.filter(([, { whyNot }]) => whyNot?.() === undefined)
/** The sets of schedules of which all were run. */
let complete = 'none'
const shares = possible.reduce((sum, [, { share }]) => sum + share, 0)
const works = await openWorks(new Random(seed))
const { tally } = works
console.log(`seed ${seed}, ${minutes} minutes`)
sayWhatIsLeftOut()
try {
  for (const [name, { run, share }] of possible) {
    const until = performance.now() + minutes * 60_000 * (share / shares)
    const reason = await run(works, until)
    if (reason !== undefined) leftOut.push(`${name}: ${reason}`)
    console.log(`${name}: ${reason === undefined ? 'passed' : `skipped: ${reason}`}`)
  }
  // Anything else would have ended it.
  for (const what of ['printed twice', 'lost']) tally.add(what, 0)
  await works.close()
} catch (error) {
  console.error(error instanceof Violation ? error.message : error)
  console.error(`seed ${seed}; the evidence is in ${works.root}`)
  process.exitCode = 1
  await works.close(true)
}
console.log(tally.table())
sayWhatIsLeftOut()
if (only.includes('schedule')) console.log(`${tally.of('schedules')} schedules; complete: ${complete}`)

/**
 * The schedules, on all processors, as long as there is time; what is found is printed as soon as it is found. With
 * `--mutants`, the program is broken in many ways instead, and each must be found.
 * @throws {Violation} at the end
 */
async function schedules({ random }: Works, until: number): Promise<undefined> {
  const processes = values.mutants ? 1 : availableParallelism()
  const left = String((until - performance.now()) / 60_000)
  const options = values.mutants
    ? ['--mutants']
    : ['--minutes', left, '--seed', String(random.whole(1, 2 ** 31))]
  const sets: string[][] = []
  const search = async (index: number): Promise<number> => {
    const share = ['--share', `${index}/${processes}`]
    const child = fork(join(import.meta.dirname, 'torture/schedule.ts'), [...share, ...options])
    child.on('message', (said: { count: number; complete: string[] }) => {
      tally.add('schedules', said.count)
      sets.push(said.complete)
    })
    const stop = () => child.kill()
    process.once('exit', stop)
    const [code] = await once(child, 'close')
    process.off('exit', stop)
    return code
  }
  const codes = await Promise.all(Array.from({ length: processes }, (_, index) => search(index)))
  // A set is complete if each share of it is.
  complete = (sets[0] ?? []).filter((name) => sets.every((each) => each.includes(name))).join(', ') || 'none'
  if (codes.some((code) => code !== 0)) throw new Violation('schedules violate a rule, or could not be run')
}
