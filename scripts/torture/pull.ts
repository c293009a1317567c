/**
 * Pulls the disk out right after a call that went well, as one does with a stick. A call that has ended has nothing
 * left to be interrupted: what it stored, claimed and printed must be there, whole, and nothing else may have changed.
 * Only what was put aside and is no longer needed may come back; the next call removes it once more.
 */
import { mkdirSync, readdirSync, renameSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { KINDS, overImages, type Stick } from './image.ts'
import { printedIn, type Run, run } from './program.ts'
import { look } from './sight.ts'
import type { Works } from './works.ts'

const ROUNDS_AN_IMAGE = 2
const PANEL = 20
const MOVED = 5

/** In this order there are always enough profiles to take. */
const CALLS: Record<string, (stick: Stick) => Promise<Run>> = {
  [`fetch -n ${PANEL}`]: (stick) => fetch(stick, PANEL),
  next: (stick) => next(stick),
  // It does so if there are too few without.
  'next that finishes a fetch': async (stick) => {
    await leaveFetch(stick)
    return next(stick, '-n', String(look(stick.directory).unused.size + 1))
  },
  [`next -n ${PANEL}`]: (stick) => next(stick, '-n', String(PANEL)),
  'next --device': (stick) => next(stick, '--device', `SN ${stick.ledger.printed.size}`),
  'next in a directory made by hand': (stick) => {
    makeByHand(stick)
    return next(stick)
  },
  'move away': ({ directory, apart }) => move(directory, apart),
  'move home': ({ directory, apart }) => move(apart, directory),
  'fetch that finishes a fetch': (stick) => leaveFetch(stick).then(() => fetch(stick, 1)),
}

/** Pulls it out after each kind of call, on each kind of file system, until the time is over. */
export const pull = (works: Works, until: number) =>
  overImages(works, { until, most: ROUNDS_AN_IMAGE, kinds: KINDS }, async (stick) => {
    const { image, directory, apart, ledger } = stick
    for (const [call, play] of Object.entries(CALLS)) {
      const { code, stdout, stderr } = await play(stick)
      await image.pull()
      const printed = printedIn(stdout)
      ledger.print(printed)
      works.tally.add('profiles printed', printed.length)
      ledger.check([directory, apart], true)
      if (code !== 0) ledger.problems.add(`it ended with ${code}: ${stderr}`)
      ledger.tell('marked used and not printed', ledger.stuck([directory, apart]))
      image.endIfBroken(`pulled after ${call}`, ledger)
      works.tally.add(`pulled after ${call} on ${image.kind}`)
      works.tally.show('pull')
    }
  })

const next = ({ works, directory }: Stick, ...options: string[]) => works.next(directory, ...options)

const move = (from: string, to: string) => run(['move', '-n', String(MOVED), '-i', from, '-o', to])

async function fetch({ works, directory, ledger }: Stick, count: number): Promise<Run> {
  const before = works.service.delivered.size
  const ended = await works.fetch(directory, count)
  ledger.keep(works.deliveredSince(before))
  return ended
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

async function leaveFetch({ works, image, directory, ledger }: Stick): Promise<void> {
  ledger.keep(await works.leaveFetch(directory, 2 * PANEL))
  image.settle()
}
