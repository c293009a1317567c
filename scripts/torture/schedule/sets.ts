/** Which scenarios there are, and the sets of schedules that are run. */
import { Random } from '../random.ts'
import { allFaults, twoFaults } from './faults.ts'
import { allOfPair } from './pairs.ts'
import { begunMoves, STARTS, WANTS } from './scenarios.ts'
import type { Schedule, Segment } from './text.ts'
import type { Trials } from './trial.ts'

type Base = Omit<Schedule, 'segments'>

/** Two devices for which nothing differs are one scenario. */
const PAIRS: [string, string][] = [
  ['next', 'next'],
  ['next', 'next2'],
  ['next2', 'next2'],
  ['deviceD', 'deviceD'],
  ['deviceD', 'deviceE'],
  ['deviceD', 'deviceLowerD'],
  ['deviceD', 'next'],
  ['deviceD', 'next2'],
  ['devicesDE', 'next'],
  ['devicesDE', 'next2'],
  ['devicesDE', 'deviceD'],
  ['devicesDE', 'devicesDE'],
  ['iccid', 'next'],
  ['iccid', 'next2'],
  ['iccid', 'iccid'],
  ['iccid', 'deviceD'],
  ['iccid', 'devicesDE'],
  ['store', 'next'],
  ['store', 'next2'],
  ['store', 'deviceD'],
  ['store', 'iccid'],
  ['store', 'store'],
  ['recover', 'next'],
  ['recover', 'next2'],
  ['recover', 'deviceD'],
  ['recover', 'recover'],
  ['recover', 'store'],
  ['iccid', 'store'],
  ['iccid', 'recover'],
  ['iccid', 'status'],
  ['status', 'next'],
  ['status', 'deviceD'],
  ['rename', 'next'],
  ['rename', 'next2'],
  ['rename', 'deviceD'],
  ['rename', 'devicesDE'],
  ['rename', 'iccid'],
  ['rename', 'store'],
  ['rename', 'recover'],
  ['restore', 'restore'],
  ['restore', 'next'],
  ['restore', 'deviceD'],
  ['restore', 'deviceE'],
  ['restore', 'deviceLowerD'],
  ['restore', 'iccid'],
  ['restore', 'bindD'],
  ['restore', 'newD'],
  ['bindD', 'bindD'],
  ['bindD', 'bindE'],
  ['bindD', 'deviceD'],
  ['bindE', 'deviceD'],
  ['newD', 'newD'],
  ['newD', 'deviceD'],
]

/** With moves to another directory. */
const MOVES: [string, string][] = [
  ['restore', 'move'],
  ['restore', 'moveall'],
  ['bindD', 'move'],
  ['move', 'move'],
  ['move', 'relay'],
  ['move', 'handover'],
  ['move', 'back'],
  ['move', 'next'],
  ['move', 'next2'],
  ['move', 'deviceD'],
  ['move', 'iccid'],
  ['move', 'store'],
  ['move', 'status'],
  ['move', 'rename'],
  ['move', 'nextT'],
  ['move', 'recover'],
  ['moveall', 'next'],
  ['moveall', 'move'],
  ['back', 'back'],
  ['back', 'next'],
  ['back', 'deviceD'],
  ['back', 'iccid'],
  ['back', 'store'],
  ['back', 'rename'],
  ['move', 'move2'],
  ['move', 'move3rd'],
  ['moveall', 'move3rd'],
  ['move', 'home'],
  ['relay', 'home'],
  ['handover', 'home'],
  ['round', 'next'],
  ['round', 'move'],
  ['round', 'iccidall'],
  ['rounds', 'next'],
  ['home', 'home'],
  ['home', 'next'],
  ['home', 'nextT'],
  ['home', 'move3rd'],
  ['move3rd', 'next'],
  ['move3rd', 'nextT'],
  ['move2', 'move2'],
  ['move2', 'next2'],
  ['move2', 'back'],
  ['move', 'devicesDE'],
  ['move', 'renameT'],
  ['move', 'iccidT'],
  ['move', 'iccidall'],
  ['moveall', 'iccid'],
  ['moveall', 'deviceD'],
]

/** Three calls of which each can come between the steps of the others. */
const TRIPLES: string[][] = [
  ['next', 'next', 'next2'],
  ['next2', 'next2', 'next'],
  ['deviceD', 'deviceD', 'deviceD'],
  ['deviceD', 'deviceD', 'next2'],
  ['deviceD', 'deviceD', 'deviceLowerD'],
  ['deviceD', 'deviceD', 'next'],
  ['deviceD', 'next2', 'next'],
  ['devicesDE', 'next2', 'next'],
  ['devicesDE', 'devicesDE', 'deviceD'],
  ['iccid', 'next2', 'next'],
  ['iccid', 'deviceD', 'next2'],
  ['iccid', 'iccid', 'next'],
  ['store', 'next2', 'next'],
  ['store', 'store', 'next2'],
  ['store', 'recover', 'next2'],
  ['recover', 'recover', 'next'],
  ['rename', 'deviceD', 'next2'],
  ['move', 'move', 'back'],
  ['move', 'back', 'next'],
  ['move', 'relay', 'back'],
  ['move', 'relay', 'next'],
  ['move', 'handover', 'next2'],
  ['moveall', 'deviceD', 'next'],
  ['moveall', 'relay', 'iccid'],
  ['next2', 'next2', 'rename'],
  ['next2', 'next2', 'iccid'],
  ['next2', 'devicesDE', 'rename'],
  ['devicesDE', 'devicesDE', 'rename'],
  ['next', 'next2', 'rename'],
  ['store', 'store', 'rename'],
  ['recover', 'recover', 'rename'],
  ['recover', 'recover', 'iccid'],
  ['move', 'move2', 'next'],
  ['move', 'move2', 'back'],
  ['move2', 'move2', 'back'],
  ['move2', 'move2', 'next'],
  ['move', 'move', 'handover'],
  ['move', 'move', 'renameT'],
  ['move', 'move', 'home'],
  ['move', 'move3rd', 'back'],
  ['move', 'move3rd', 'next'],
  ['move', 'back', 'rename'],
  ['move', 'home', 'next'],
  ['move', 'home', 'nextT'],
  ['move', 'relay', 'handover'],
  ['move', 'move', 'relay', 'handover'],
  ['move', 'move', 'nextT', 'relay'],
  ['move', 'move', 'next', 'nextT'],
  ['next2', 'next2', 'next', 'rename'],
  ['round', 'move', 'next'],
  ['round', 'round', 'next'],
  ['round', 'relay', 'iccidall'],
  ['back', 'back', 'next2'],
]

/** What is on the stick only after a move. */
const IS_ON_STICK = /^(home|nextT|iccidT|renameT|iccidall)/

/** Where a start has to do with one of the calls. */
function suits(start: string, calls: readonly string[]): boolean {
  if (calls.includes('restore') !== (start === 'backup')) return false
  if (start === 'damaged') return calls.includes('nextT')
  if (start === 'moved') return calls.some((name) => IS_ON_STICK.test(name))
  if (start === 'restored') return calls.some((name) => /^(move3rd|next|home|iccid)/.test(name))
  if (calls.every((name) => name === 'home' || name === 'next')) return !calls.includes('home')
  if (start === 'answer') return calls.some((name) => name === 'recover' || name === 'next')
  if (calls.includes('recover')) return false
  if (begunMoves(start).length > 0) return calls.some((name) => /^(move|back|round)/.test(name))
  if (calls.includes('back') && !calls.includes('move')) return false
  if (start === 'assigned' || start === 'claimed')
    return calls.some((name) => /device|iccid|store|bind|new/.test(name))
  return true
}

const FAULTLESS = [
  'links',
  'nolinks',
  'erange',
  'fat',
  'two-win',
  'behind',
  'ahead',
  'verifier',
  'held',
  'estale',
]
/** Where two can win a rename, no other tool may work in the directory. */
const isSafe = (kind: string, calls: readonly string[]) => !(kind === 'two-win' && calls.includes('rename'))

const FAULTY = ['links', 'nolinks', 'fat']

/** Two profiles, and so many that one call gets too few. */
function lotsFor(calls: readonly string[]): number[] {
  const wanted = calls.reduce(
    (sum, name) => sum + (WANTS[name]?.isOnStick ? 0 : (WANTS[name]?.count ?? 0)),
    0,
  )
  return [...new Set([2, Math.max(1, wanted - 1)])]
}

function bases(
  kinds: readonly string[],
  starts: readonly string[],
  lots: (calls: readonly string[]) => number[],
): Base[] {
  return kinds.flatMap((kind) =>
    starts.flatMap((start) =>
      [...PAIRS, ...MOVES]
        .filter((calls) => suits(start, calls) && isSafe(kind, calls))
        .flatMap((calls) => lots(calls).map((profiles) => ({ kind, start, calls, profiles }))),
    ),
  )
}

/** A share of the scenarios: that of one process of several. */
export interface Share {
  readonly index: number
  readonly of: number
}

export const mine = <T>(all: readonly T[], { index, of }: Share) => all.filter((_, at) => at % of === index)

/** May it go on? */
export type GoesOn = () => boolean

export const pairBases = () => bases(FAULTLESS, Object.keys(STARTS), lotsFor)

export const faultBases = () =>
  bases(
    FAULTY,
    [
      'fresh',
      'assigned',
      'claimed',
      'halfclaim',
      'answer',
      'halfmoved',
      'given',
      'moved',
      'damaged',
      'backup',
    ],
    () => [2],
  )

export async function completePairs(
  trials: Trials,
  share: Share,
  only: RegExp,
  goesOn: GoesOn,
): Promise<void> {
  for (const base of mine(pairBases(), share)) {
    if (!goesOn()) return
    if (only.test(nameOf(base))) await allOfPair(base, trials.trial(`pairs ${nameOf(base)}`))
  }
}

export async function completeFaults(
  trials: Trials,
  share: Share,
  only: RegExp,
  goesOn: GoesOn,
): Promise<void> {
  for (const base of mine(faultBases(), share)) {
    if (!goesOn()) return
    if (only.test(nameOf(base))) await allFaults(base, trials.trial(`faults ${nameOf(base)}`))
  }
}

/** Commands that are given again after two faults. */
const AGAIN = [
  'restore',
  'bindD',
  'next',
  'next2',
  'deviceD',
  'devicesDE',
  'iccid',
  'move',
  'move2',
  'back',
  'round',
  'recover',
]

export const doubleBases = (): Base[] =>
  FAULTY.flatMap((kind) =>
    ['fresh', 'claimed', 'halfclaim', 'halfmoved', 'given', 'answer', 'backup'].flatMap((start) =>
      AGAIN.map((name) => [name, name])
        .filter((calls) => suits(start, calls))
        .map((calls) => ({ kind, start, calls, profiles: 3 })),
    ),
  )

export async function doubleFaults(
  trials: Trials,
  share: Share,
  only: RegExp,
  goesOn: GoesOn,
): Promise<void> {
  for (const base of mine(doubleBases(), share)) {
    if (!goesOn()) return
    if (only.test(nameOf(base))) await twoFaults(base, trials.trial(`double ${nameOf(base)}`))
  }
}

export const nameOf = ({ kind, start, calls, profiles }: Base) =>
  `${kind} ${start}/${profiles} ${calls.join('+')}`

const NAPS_MS = [70_000, 11 * 60_000, 25 * 3_600_000]
const CODES = ['EIO', 'ENOSPC', 'EACCES', 'EBUSY']
const LOST_REPLIES = ['ENOENT', 'EEXIST', 'EIO']
/** About as many points as a call has. */
const LONGEST = 70

/** Schedules by chance, until it is told to end. */
export async function randomly(trials: Trials, seed: number, only: RegExp, goesOn: GoesOn): Promise<void> {
  const random = new Random(seed)
  while (goesOn()) {
    const schedule = anyOf(random)
    if (only.test(nameOf(schedule)) && isSafe(schedule.kind, schedule.calls))
      await trials.trial(`random ${schedule.kind} ${schedule.calls.length} calls`)(schedule)
  }
}

/** The judge knows what comes of moves only beside the calls that they are paired with. */
const WITHOUT_MOVES = [...new Set(PAIRS.flat())]

function anyCalls(random: Random): readonly string[] {
  if (random.chance(0.4)) return random.shuffled(random.pick([...PAIRS, ...MOVES]))
  if (random.chance(0.7)) return random.shuffled(random.pick(TRIPLES))
  return Array.from({ length: 3 }, () => random.pick(WITHOUT_MOVES))
}

function anyOf(random: Random): Schedule {
  const calls = anyCalls(random)
  const length = random.whole(1, 5)
  const faulty = new Set(random.chance(0.5) ? [] : [random.whole(1, length), random.whole(1, 2 * length)])
  const segments = Array.from({ length }, (_, at) => anySegment(random, calls.length, faulty.has(at + 1)))
  const kind = random.pick([...FAULTLESS, 'links', 'nolinks'])
  const hasMoves = calls.some((name) => !WITHOUT_MOVES.includes(name))
  const starts = Object.keys(STARTS).filter((start) =>
    hasMoves ? suits(start, calls) : begunMoves(start).length === 0,
  )
  return { kind, start: random.pick(starts), profiles: random.whole(1, hasMoves ? 4 : 3), calls, segments }
}

function anySegment(random: Random, calls: number, isFaulty: boolean): Segment {
  const segment: Segment = {
    call: random.whole(0, calls - 1),
    points: random.whole(1, LONGEST),
    ...(random.chance(0.15) ? { napMs: random.pick(NAPS_MS) } : {}),
  }
  if (!isFaulty) return segment
  const what = random.whole(0, 5)
  if (what === 0) return { ...segment, isKill: true }
  if (what === 1) return { ...segment, cut: random.pick([[0], [0.5], [1], [0, 1], [1, 0]]) }
  if (what === 2) return { ...segment, signals: random.whole(1, 2) }
  const how = random.chance(0.5) ? 'refused' : 'told'
  if (what === 3) return { ...segment, fault: { how, code: 'EIO', lasts: true } }
  return { ...segment, fault: { how, code: random.pick(how === 'refused' ? CODES : LOST_REPLIES) } }
}
