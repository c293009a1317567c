/**
 * The long proof that nothing is handed out twice and nothing is lost:
 *
 *     node scripts/torture.ts [--minutes N] [--seed S] [--only kill,inject,power,race,sshfs]
 *
 * It kills the program at its system calls, makes them fail, cuts the power under its file system, and lets many
 * processes race. SOFTSIM_BIN names a build other than dist/softsim.cjs. What a machine can't do is skipped and told.
 * Exit code 1 means that something was printed twice or lost; its directory is left as it was.
 */
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { unmountAll } from './torture/image.ts'
import { inject } from './torture/inject.ts'
import { kill } from './torture/kill.ts'
import { power } from './torture/power.ts'
import { race } from './torture/race.ts'
import { Random } from './torture/random.ts'
import { sshfs } from './torture/sshfs.ts'
import { Tally } from './torture/tally.ts'
import { Works } from './torture/works.ts'

type Part = (works: Works, tally: Tally, until: number) => Promise<string | undefined>

/** Each part with its share of the time. It returns why it was skipped. */
const PARTS: Record<string, { part: Part; share: number }> = {
  kill: { part: kill, share: 0.3 },
  inject: { part: inject, share: 0.2 },
  power: { part: power, share: 0.35 },
  race: { part: race, share: 0.1 },
  sshfs: { part: sshfs, share: 0.05 },
}

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(randomInt(2 ** 32)) },
    only: { type: 'string', default: Object.keys(PARTS).join(',') },
  },
})

process.on('exit', unmountAll)
process.on('SIGINT', () => process.exit(130))
process.on('SIGTERM', () => process.exit(143))

const minutes = Number(values.minutes)
const seed = Number(values.seed)
const only = values.only.split(',')
const chosen = Object.entries(PARTS).filter(([name]) => only.includes(name))
if (chosen.length < only.length) throw new Error(`--only takes some of ${Object.keys(PARTS).join(',')}`)
if (!(minutes > 0)) throw new Error('--minutes takes a number above 0')
if (!Number.isSafeInteger(seed)) throw new Error('--seed takes a whole number')
const shares = chosen.reduce((sum, [, { share }]) => sum + share, 0)
const tally = new Tally()
const works = await Works.open(new Random(seed))
console.log(`seed ${seed}, ${minutes} minutes`)
try {
  for (const [name, { part, share }] of chosen) {
    const until = performance.now() + minutes * 60_000 * (share / shares)
    const skipped = await part(works, tally, until)
    tally.endLine()
    console.log(`${name}: ${skipped === undefined ? 'held' : `skipped: ${skipped}`}`)
  }
  // Anything else would have ended it.
  for (const what of ['printed twice', 'lost']) tally.add(what, 0)
  await works.close()
} catch (error) {
  tally.endLine()
  console.error(error)
  console.error(`seed ${seed}; what there is to see is left in ${works.root}`)
  process.exitCode = 1
  await works.close(true)
}
console.log(tally.table())
