/**
 * Kills `move` at its system calls, and pulls its disks out, and runs it again; then runs two moves at
 * once beside stations and a fetch, and kills them.
 */
import { readFileSync, rmSync } from 'node:fs'
import { Image, KINDS, whyNoImages, whyNot } from './image.ts'
import { anyBlow, killMoveAt } from './move/kill.ts'
import { type Disk, hereOf, pairOf, pointsOfMove } from './move/pair.ts'
import { breakable, pullUnderMove, timeMove } from './move/pull.ts'
import { raceMoves } from './move/race.ts'
import { ownersGone } from './sight.ts'
import type { Tally } from './tally.ts'
import { type Call, points, readCalls, traced, whyNoTrace } from './trace.ts'
import type { Works } from './works.ts'

const PROFILES = 8
const KILLS_A_TURN = 20
const PULLS_A_TURN = 4

/** In turns until the time is over, once at least. */
export async function move(works: Works, tally: Tally, until: number): Promise<undefined> {
  const kinds = whyNoImages() === undefined ? KINDS.filter((kind) => whyNot(kind) === undefined) : []
  const canTrace = whyNoTrace() === undefined
  const templates = [await stock(works), ...(canTrace ? [await stockBesideKilledFetch(works)] : [])]
  do {
    const images = works.random
      .shuffled(kinds)
      .slice(0, 2)
      .map((kind) => new Image(kind, works.root, works.random))
    const disks = [
      hereOf(works),
      ...images.map((image) => ({ name: image.kind, path: image.mountPoint, image })),
    ]
    const [one, other] = [
      works.random.pick(disks),
      works.random.pick(disks.length > 1 ? disks.slice(1) : disks),
    ]
    const [from, to] = works.random.chance(0.5) ? [one, other] : [other, one]
    await turn(works, tally, { from, to, template: works.random.pick(templates), canTrace })
    for (const image of images) {
      image.unmount()
      rmSync(image.path)
    }
  } while (performance.now() < until)
  return undefined
}

interface Turn {
  readonly from: Disk
  readonly to: Disk
  readonly template: string
  readonly canTrace: boolean
}

/** Some of everything, from one disk to another, or on one. */
async function turn(works: Works, tally: Tally, { from, to, template, canTrace }: Turn): Promise<void> {
  const newPair = () => pairOf(works, template, { from, to })
  if (canTrace) {
    const all = (await pointsOfMove(works, newPair())).filter(({ matters }) => matters)
    for (const point of works.random.shuffled(all).slice(0, KILLS_A_TURN)) {
      const pair = newPair()
      await killMoveAt(works, tally, pair, anyBlow(works, pair, point))
      tally.show('move')
    }
  }
  const took = await timeMove(newPair())
  for (let count = 0; count < PULLS_A_TURN; count++) {
    const pair = newPair()
    if (breakable(pair).length > 0) await pullUnderMove(works, tally, pair, took)
  }
  await raceMoves(works, tally, pairOf(works, undefined, { from, to }))
  tally.show('move')
}

async function stock(works: Works): Promise<string> {
  const template = works.newPath()
  await works.fetch(template, PROFILES)
  return template
}

const removesAnswer = ({ name, args }: Call) => name.startsWith('unlink') && args.includes('.answer/answer"')

/** It has stored everything, and has not removed what it put aside. */
async function stockBesideKilledFetch(works: Works): Promise<string> {
  const [template, log] = [works.newPath(), works.newPath('trace')]
  await works.fetch(works.newPath(), PROFILES, { under: traced(log) })
  const [point] = points(readCalls(readFileSync(log, 'utf8')), removesAnswer).filter(({ matters }) => matters)
  if (point === undefined) throw new Error('a fetch did not remove its answer')
  const under = traced('/dev/null', { syscall: point.syscall, when: point.when, effect: 'signal=SIGKILL' })
  await works.fetch(template, PROFILES, { under })
  await ownersGone(template)
  return template
}
