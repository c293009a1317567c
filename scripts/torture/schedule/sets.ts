/** Which scenarios there are, and the sets of schedules that are run. */
import { Random } from '../random.ts'
import { KINDS } from './disk.ts'
import { begunMoves, STARTS, WANTS } from './scenarios.ts'
import { sweep, sweeps } from './sweep.ts'
import { type Base, parse, type Schedule, type Segment } from './text.ts'
import { type GoesOn, mine, type Share, type Trials } from './trial.ts'

/** What is called with each of some others. */
const tuples = (table: Record<string, string>): string[][] =>
  Object.entries(table).flatMap(([some, others]) =>
    others.split(' ').map((more) => `${some}+${more}`.split('+')),
  )

/** Two devices for which nothing differs are one scenario. */
const PAIRS = tuples({
  next: 'next next2',
  next2: 'next2',
  deviceD: 'deviceD deviceE deviceLowerD next next2',
  devicesDE: 'next next2 deviceD devicesDE',
  iccid: 'next next2 iccid deviceD devicesDE store recover status',
  store: 'next next2 deviceD iccid store',
  recover: 'next next2 deviceD recover store',
  status: 'next deviceD',
  rename: 'next next2 deviceD devicesDE iccid store recover',
  restore: 'restore next deviceD deviceE deviceLowerD iccid bindD newD',
  bindD: 'bindD bindE deviceD',
  bindE: 'deviceD',
  newD: 'newD deviceD',
})

/** With moves to another directory. */
const MOVES = tuples({
  restore: 'move moveall',
  bindD: 'move',
  move: 'move relay handover back next next2 deviceD iccid store status rename nextT recover move2 move3rd home devicesDE renameT iccidT iccidall',
  moveall: 'next move move3rd iccid deviceD',
  back: 'back next deviceD iccid store rename',
  relay: 'home',
  handover: 'home',
  round: 'next move iccidall',
  rounds: 'next',
  home: 'home next nextT move3rd',
  move3rd: 'next nextT',
  move2: 'move2 next2 back',
})

/** Three calls of which each can come between the steps of the others. */
const TRIPLES = tuples({
  'next+next': 'next2',
  'next2+next2': 'next rename iccid next+rename',
  'deviceD+deviceD': 'deviceD deviceLowerD next2 next',
  'deviceD+next2': 'next',
  'devicesDE+next2': 'next',
  'devicesDE+devicesDE': 'deviceD rename',
  'iccid+next2': 'next',
  'iccid+deviceD': 'next2',
  'iccid+iccid': 'next',
  'store+next2': 'next',
  'store+store': 'next2 rename',
  'store+recover': 'next2',
  'recover+recover': 'next rename iccid',
  'rename+deviceD': 'next2',
  'move+move': 'back handover renameT home relay+handover nextT+relay next+nextT',
  'move+back': 'next rename',
  'move+relay': 'back next handover',
  'move+handover': 'next2',
  'moveall+deviceD': 'next',
  'moveall+relay': 'iccid',
  'next2+devicesDE': 'rename',
  'next+next2': 'rename',
  'move+move2': 'next back',
  'move2+move2': 'back next',
  'move+move3rd': 'back next',
  'move+home': 'next nextT',
  'round+move': 'next',
  'round+round': 'next',
  'round+relay': 'iccidall',
  'back+back': 'next2',
})

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

const FAULTLESS = [...KINDS.keys()]

/**
 * Where two can win a rename, no other tool may work in the directory; nor does one see what version 1.1 left used, or
 * set aside for whoever names it.
 */
const isSafe = ({ kind, start, calls }: Base) =>
  !calls.includes('rename') ||
  !(
    kind === 'two-win' ||
    (start === 'claimed' && calls.some((name) => /device|new/.test(name))) ||
    (start === 'halfclaim' && calls.some((name) => name.startsWith('iccid')))
  )

const FAULTY = ['links', 'nolinks', 'fat']

/** Two profiles, and so many that one call gets too few. */
function lotsFor(calls: readonly string[]): number[] {
  const counts = calls.map((name) => (WANTS[name]?.isOnStick ? 0 : (WANTS[name]?.count ?? 0)))
  const wanted = counts.reduce((sum, count) => sum + count, 0)
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
        .filter((calls) => suits(start, calls))
        .flatMap((calls) => lots(calls).map((profiles) => ({ kind, start, calls, profiles })))
        .filter(isSafe),
    ),
  )
}

/** Without the one that has no profiles. */
const STOCKED = STARTS.filter((start) => start !== 'missing')

/** Whatever a directory begins with, on one disk; a fresh one, on all that are not the same without a power cut. */
const pairBases = (): Base[] => [
  ...bases(['links'], STOCKED, lotsFor),
  ...bases(
    FAULTLESS.filter((kind) => !['links', 'whole', 'btrfs'].includes(kind)),
    ['fresh'],
    () => [2],
  ),
]

const BROKEN = 'fresh assigned claimed halfclaim answer halfmoved given moved damaged backup'.split(' ')

/** Commands that are given again after two faults. */
const AGAIN = 'restore bindD next next2 deviceD devicesDE iccid move move2 back round recover'.split(' ')

const faultBases = () => bases(FAULTY, BROKEN, () => [2])

const doubleBases = (): Base[] =>
  FAULTY.flatMap((kind) =>
    ['fresh', 'claimed', 'halfclaim', 'halfmoved', 'given', 'answer', 'backup'].flatMap((start) =>
      AGAIN.map((name) => [name, name])
        .filter((calls) => suits(start, calls))
        .map((calls) => ({ kind, start, calls, profiles: 3 })),
    ),
  )

/** Runs what it is to explore, until it is told to end. */
type Explore = (trials: Trials, share: Share, only: RegExp, goesOn: GoesOn, seed: number) => Promise<void>

/** Longer than any claim takes. */
const NAP = '@70s'

/** At most two changes between two calls. */
const PAIR = ['A? B A', `A?${NAP} B A`, 'A? B? A B']

/** After these, the call does not go on. */
const ENDS = '! ^0 ^0.5 ^1 %'.split(' ')

/** A disk fails, a reply is lost as on NFS, the call is asked to stop. */
const TROUBLE = '=EIO =EACCES =EBUSY =ENOSPC =EIO+ ~EIO ~EIO+ ~ENOENT ~EEXIST $'.split(' ')

/** One fault of one of two calls; then comes the other one. */
const FAULTS = [...ENDS, ...TROUBLE].map((event) => `A?${event} B A`)

/** One fault of one of two calls, and one change between them, before or after it: more than a day can run. */
const MIXED = [
  ...ENDS.flatMap((end) => [`A? B?${end}`, `A? B A?${end}`]),
  ...TROUBLE.flatMap((event) => [`A?${event} A? B A`, `A? B?${event} B A`, `A? B A?${event} A`]),
]

/** The first fault of two is one of a few: of the others, the call says so at once. After it, the power does not fail too. */
const TWO_FAULTS = TROUBLE.filter((event) => !/EACCES|ENOSPC/.test(event)).flatMap((first) => [
  `A?${first} A B`,
  ...['!', ...TROUBLE]
    .filter((event) => !/EACCES|ENOSPC|EBUSY/.test(event))
    .map((second) => `A?${first} A?${second} A B`),
])

/** All schedules of these families, whichever call is the first. */
const complete =
  (name: string, all: () => Base[], families: readonly string[]): Explore =>
  async (trials, share, only, goesOn) => {
    for (const base of mine(all(), share).filter((each) => only.test(nameOf(each)))) {
      const others = families.map((each) => each.replaceAll(/[AB]/g, (call) => (call === 'A' ? 'B' : 'A')))
      for (const family of base.calls[0] === base.calls[1] ? families : [...families, ...others]) {
        if (!goesOn()) return
        await sweep(parse(`${nameOf(base)}: ${family}`), trials.trial(`${name} ${nameOf(base)}`))
      }
    }
  }

/** By their names. */
export const SETS: Record<string, Explore> = {
  sweeps,
  pairs: complete('pairs', pairBases, PAIR),
  faults: complete('faults', faultBases, FAULTS),
  mixed: complete('mixed', faultBases, MIXED),
  double: complete('double', doubleBases, TWO_FAULTS),
  random: randomly,
}

const nameOf = ({ kind, start, calls, profiles }: Base) => `${kind} ${start}/${profiles} ${calls.join('+')}`

const NAPS_MS = [70_000, 11 * 60_000, 25 * 3_600_000]
const CODES = ['EIO', 'ENOSPC', 'EACCES', 'EBUSY']
const LOST_REPLIES = ['ENOENT', 'EEXIST', 'EIO']
/** About as many points as a call has. */
const LONGEST = 70

/** By chance. */
async function randomly(trials: Trials, { index }: Share, only: RegExp, goesOn: GoesOn, seed: number) {
  const random = new Random(seed + index)
  while (goesOn()) {
    const schedule = anyOf(random)
    if (only.test(nameOf(schedule)) && isSafe(schedule))
      await trials.trial(`random ${schedule.kind} ${schedule.calls.length} calls`)(schedule)
  }
}

/** What comes of a move, a restore or a profile bound by hand, the judge knows only beside what they are paired with. */
const WITHOUT_MOVES = [...new Set(PAIRS.flat())].filter((name) => !/^(restore|bind)/.test(name))

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
  const isPlain = (start: string) => begunMoves(start).length === 0 && start !== 'backup'
  const starts = STOCKED.filter((start) => (hasMoves ? suits(start, calls) : isPlain(start)))
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
  if (what === 0) return { ...segment, event: '!' }
  if (what === 1) return { ...segment, event: random.pick(['^0', '^0.5', '^1', '^0/1', '^1/0']) }
  if (what === 2) return { ...segment, event: random.pick(['$', '$$']) }
  const isRefused = random.chance(0.5)
  const sign = isRefused ? '=' : '~'
  if (what === 3) return { ...segment, event: `${sign}EIO+` }
  return { ...segment, event: sign + random.pick(isRefused ? CODES : LOST_REPLIES) }
}
