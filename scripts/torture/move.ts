/**
 * Kills `move`, pulls its disks out, and runs it again; then runs two moves at once beside stations and a fetch, and
 * kills them.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Image, possibleKinds, whyNoImages } from './image.ts'
import { INTERLUDES } from './move/interlude.ts'
import { type Disk, type Disks, Pair, saidDone } from './move/pair.ts'
import { raceMoves } from './move/race.ts'
import { type Started, start } from './program.ts'
import type { Tally } from './tally.ts'
import type { Works } from './works.ts'

const PROFILES = 8
const BLOWS_A_TURN = 20

/** In turns until the time is over, once at least. */
export async function move(works: Works, tally: Tally, until: number): Promise<undefined> {
  const kinds = whyNoImages() === undefined ? possibleKinds() : []
  const templates = [works.newPath(), works.newPath()] as const
  for (const each of templates) await works.fetch(each, PROFILES)
  await works.leaveFetch(templates[1], PROFILES)
  const { random } = works
  do {
    const images = random
      .shuffled(kinds)
      .slice(0, 2)
      .map((kind) => new Image(kind, works.root, random))
    const disks: Disk[] = [
      { name: 'this disk', path: works.root },
      ...images.map((image) => ({ name: image.kind, path: image.mountPoint, image })),
    ]
    const [from, to] = random.shuffled([random.pick(disks), random.pick(disks.slice(-2))]) as [Disk, Disk]
    await turn(works, tally, { from, to }, random.pick(templates))
    for (const image of images) image.remove()
  } while (performance.now() < until)
  return undefined
}

/** Some of everything, from one disk to another, or on one. */
async function turn(works: Works, tally: Tally, disks: Disks, template: string): Promise<void> {
  const whole = new Pair(works, disks, template)
  const first = start(whole.line())
  await begun(whole, first)
  const began = performance.now()
  await first.ended
  const took = performance.now() - began
  whole.end('alone')
  for (let blow = 0; blow < BLOWS_A_TURN; blow++) {
    await strike(works, tally, new Pair(works, disks, template), took)
    tally.show('move')
  }
  await raceMoves(works, tally, new Pair(works, disks))
}

/** Waits until a move has begun to claim profiles: before, the program only starts. */
async function begun({ source }: Pair, { ended }: Started): Promise<void> {
  let isOver = false
  void ended.then(() => {
    isOver = true
  })
  while (!isOver && !existsSync(join(source, '.moves'))) await sleep(1)
}

/**
 * Interrupts a move, runs it again, and hands out what all directories have.
 * @param took how long a move takes here from its first claim on, in ms
 * @throws {Violation}
 */
async function strike(works: Works, tally: Tally, pair: Pair, took: number): Promise<void> {
  const { random } = works
  const { images, ledger } = pair
  for (const image of images) image.settle()
  const broken = random.shuffled(images.filter(({ cuts }) => cuts.includes('shutdown'))).slice(0, 1)
  const first = start(pair.line())
  await begun(pair, first)
  await sleep(took * random.next())
  let how = 'killed'
  if (broken.length > 0 && random.chance(0.2)) {
    // The move meets a broken file system, and says so.
    for (const image of broken) image.shutDown()
    await first.ended
    for (const image of broken) {
      image.unmount()
      image.mount()
    }
    how = `${broken.map(({ kind }) => kind)} pulled out under it`
  } else {
    first.signal('SIGKILL')
    await first.ended
    // Nothing of them is left but what was flushed.
    const pulled = random.chance(0.5) ? images.filter(() => random.chance(0.7)) : []
    for (const image of pulled) image.pull()
    if (pulled.length > 0) how = `killed, and ${pulled.map(({ kind }) => kind)} pulled out`
  }
  tally.add(`moves ${pair.name}, ${how}`)
  const ended = await first.ended
  ledger.check(pair.directories, false)
  if (saidDone(ended)) await pair.finish(true)
  else {
    const { what, isDone } = await random.pick(INTERLUDES)(pair)
    tally.add(`of these, ${what}`)
    await pair.finish(isDone)
  }
  pair.end(how)
}
