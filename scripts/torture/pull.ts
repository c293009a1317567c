/**
 * Pulls the disk out right after a call that went well, as one does with a stick. A call that has ended has nothing
 * left to be interrupted: what it stored, claimed and printed must be there, whole, and nothing else may have changed.
 * Only what was put aside and is no longer needed may come back; the next call removes it once more.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Image, KINDS, whyNot } from './image.ts'
import { Ledger } from './ledger.ts'
import { printedIn, type Run } from './program.ts'
import { look, ownersGone } from './sight.ts'
import { type Tally, Violation } from './tally.ts'
import { type Call, type Point, points, readCalls, traced } from './trace.ts'
import type { Works } from './works.ts'

/** A file system that is pulled out more often gets slow to look at. */
const ROUNDS_AN_IMAGE = 2

const PANEL = 20

/** A disk, its directory of profiles, and what must be true of that. */
interface Stick {
  readonly works: Works
  readonly image: Image
  readonly directory: string
  readonly ledger: Ledger
  /** The calls with which a fetch gives its profiles their names. */
  readonly namings: Point[]
}

/** In this order there are always enough profiles to take. */
const CALLS: Record<string, (stick: Stick) => Promise<Run>> = {
  [`fetch -n ${PANEL}`]: (stick) => fetch(stick, PANEL),
  next: (stick) => next(stick),
  'next that finishes a fetch': async (stick) => {
    await leaveFetch(stick)
    return next(stick)
  },
  [`next -n ${PANEL}`]: (stick) => next(stick, '-n', String(PANEL)),
  'next --device': (stick) => next(stick, '--device', `SN ${stick.ledger.printed.size}`),
  'next in a directory made by hand': (stick) => {
    makeByHand(stick)
    return next(stick)
  },
  'fetch that finishes a fetch': async (stick) => {
    await leaveFetch(stick)
    return fetch(stick, 1)
  },
}

/** Pulls it out after each kind of call, on each kind of file system, until the time is over. */
export async function pull(works: Works, tally: Tally, until: number): Promise<undefined> {
  const kinds = works.random.shuffled(KINDS.filter((kind) => whyNot(kind) === undefined))
  for (let turn = 0; performance.now() < until; turn++) {
    const image = new Image(kinds[turn % kinds.length] ?? 'ext4', works.root, works.random)
    const stick = {
      works,
      image,
      directory: join(image.mountPoint, 'profiles'),
      ledger: new Ledger(),
      namings: [],
    }
    for (let round = 0; round < ROUNDS_AN_IMAGE && performance.now() < until; round++) {
      for (const [call, play] of Object.entries(CALLS)) {
        await pullAfter(stick, call, play)
        tally.add(`pulled after ${call} on ${image.kind}`)
        tally.show('pull')
      }
    }
    tally.add('profiles printed', stick.ledger.printed.size)
    image.unmount()
    rmSync(image.path)
  }
  return undefined
}

/** @throws {Violation} */
async function pullAfter(stick: Stick, call: string, play: (stick: Stick) => Promise<Run>): Promise<void> {
  const { image, ledger, directory } = stick
  const { code, stdout, stderr } = await play(stick)
  image.pull()
  ledger.print(printedIn(stdout))
  ledger.check(directory, true)
  const { used } = look(directory)
  const unprinted = [...used].filter((iccid) => !ledger.printed.has(iccid))
  if (code !== 0) ledger.problems.push(`it ended with ${code}: ${stderr}`)
  if (unprinted.length > 0) ledger.problems.push(`marked used and not printed: ${unprinted.join(', ')}`)
  if (ledger.problems.length === 0) return
  image.unmount()
  throw new Violation(
    `pulled after ${call} on ${image.kind}: ${ledger.problems.join('; ')}\nsee ${image.path}, not mounted any more`,
  )
}

const next = ({ works, directory }: Stick, ...options: string[]) => works.next(directory, ...options)

async function fetch({ works, directory, ledger }: Stick, count: number): Promise<Run> {
  const before = works.service.delivered.size
  const run = await works.fetch(directory, count)
  ledger.keep(works.deliveredSince(before))
  return run
}

/** As one does who carries profiles to a stick: on FAT, Linux flushes the first names of such a directory late. */
function makeByHand({ image, directory }: Stick): void {
  const old = `${directory}.old`
  renameSync(directory, old)
  mkdirSync(directory)
  for (const name of readdirSync(old)) renameSync(join(old, name), join(directory, name))
  rmdirSync(old)
  image.settle()
}

/** Whether a call gives a profile its name: a rename, or where there are no links, the creation of the file itself. */
const givesName = ({ name, args }: Call) =>
  /\/\d+\.json"/.test(args) && (name.startsWith('rename') || args.includes('O_CREAT'))

/** Leaves on the disk what a fetch that was killed amid publishing leaves. */
async function leaveFetch(stick: Stick): Promise<void> {
  const { works, image, directory, ledger, namings } = stick
  if (namings.length === 0) await rehearse(stick)
  const before = works.service.delivered.size
  const { syscall, when } = works.random.pick(namings)
  const under = traced('/dev/null', { syscall, when, effect: 'signal=SIGKILL' })
  const { signal, stderr } = await works.fetch(directory, PANEL, { under })
  if (signal !== 'SIGKILL') throw new Error(`a fetch was not killed: ${stderr}`)
  ledger.keep(works.deliveredSince(before))
  await ownersGone(directory)
  image.settle()
}

/** Finds out which of its calls give profiles their names on this file system. */
async function rehearse({ works, directory, ledger, namings }: Stick): Promise<void> {
  const before = works.service.delivered.size
  const log = join(works.root, 'rehearsal')
  await works.fetch(directory, PANEL, { under: traced(log) })
  ledger.keep(works.deliveredSince(before))
  namings.push(...points(readCalls(readFileSync(log, 'utf8')), givesName).filter(({ matters }) => matters))
}
