/** Which scenarios there are, and the sets of schedules that are run. */
import { readFileSync } from 'node:fs'
import type { Random } from '../random.ts'
import { KINDS } from './kinds.ts'
import { programFor } from './run.ts'
import { changesOf } from './scenarios.ts'
import { sweep } from './sweep.ts'
import { type Base, nameOf, parse, type Schedule, type Segment } from './text.ts'
import type { Trials } from './trial.ts'

/** What is called with each of some others. */
const tuples = (table: Record<string, string>): string[][] =>
  Object.entries(table).flatMap(([some, others]) =>
    others.split(' ').map((more) => `${some}+${more}`.split('+')),
  )

const PAIRS = tuples({
  next: 'next next2',
  next2: 'next2 next3',
  deviceD: 'deviceD deviceE next next2 lowerD newLowerD',
  devicesDE: 'next2 deviceD devicesDE',
  iccid: 'iccid next next2 deviceD bindD',
  bindD: 'deviceD',
  store: 'store next next2 deviceD',
  storeagain: 'storeagain next iccid',
  settle: 'next next2 deviceD devicesDE store',
})

const MOVES = tuples({
  move: 'move move2 move3rd back next next2 deviceD iccid store nextT home relay round settle',
  moveall: 'next deviceD moveall onward',
  move2: 'move2 next2',
  back: 'back next',
  home: 'home next nextT onward',
  move3rd: 'relay',
  settle: 'move2 home',
})

/** Three calls of which one sleeps anywhere while others move and bring home. */
const STRAYS = tuples({
  next: 'round+next round+settle move+back circle+next next2+settle settle+next',
  deviceD: 'round+deviceD round+next move+deviceD next+deviceD circle+deviceE settle+deviceD settle+next',
  next2: 'round+next2 settle+next2',
  move: 'move+home move2+home move+circle moveall+onward back+move move+nextT settle+round relay+homeward',
  home: 'home+move move+home round+next',
  back: 'move+home round+move',
  store: 'store+move next+move moveall+home',
  settle: 'round+next deviceD+next next+round settle+moveall',
  onward: 'home+move',
})

/** What is there on the stick only after a move. */
const IS_ON_STICK = /^(home|next2?T|onward|homeward)$/
const MOVES_THERE = /^(move|round|relay|circle)/

const startOf = (calls: readonly string[]): string =>
  calls.some((name) => IS_ON_STICK.test(name)) && !calls.some((name) => MOVES_THERE.test(name))
    ? 'moved'
    : 'fresh'

function bases(kinds: string, tuples: readonly string[][], lots: readonly number[]): Base[] {
  return kinds
    .split(' ')
    .flatMap((kind) =>
      tuples.flatMap((calls) => lots.map((profiles) => ({ kind, start: startOf(calls), profiles, calls }))),
    )
}

const twiceEach = (names: string): string[][] => names.split(' ').map((name) => [name, name])

/** What killed calls have left, who comes then, and who beside that. */
const AFTER_KILLS: Record<string, string> = {
  next2: 'next+next next2+next settle+next move+next settle+settle',
  deviceD: 'deviceD+next deviceD+deviceD settle+next next2+next iccid+deviceD',
  move2: 'move2+next move2+move2 back+move2 move+nextT back+next settle+move2 move2+home',
  store: 'store+next settle+next settle+settle next2+store',
}

async function afterKills(kind: string): Promise<Base[]> {
  const all: Base[] = []
  const own = KINDS.get(kind)
  if (own === undefined) throw new Error(`there is no kind ${kind}`)
  for (const [name, others] of Object.entries(AFTER_KILLS)) {
    const most = await changesOf(await programFor(own), own, name, 2)
    for (let n = 1; n < most; n++)
      for (const calls of others.split(' '))
        all.push({ kind, start: `${name}!${n}`, profiles: 2, calls: calls.split('+') })
  }
  return all
}

/** What a set is: its scenarios, and the families of each. With `isBoth`, each with either call as the first one, too. */
interface Part {
  readonly bases: () => Base[] | Promise<Base[]>
  readonly families: readonly string[]
  readonly isBoth?: boolean
}

const ORDER = ['A? B A', 'A? B? A B']
const ENDS = '! ^0 ^0.5 ^0/1 ^1/0'.split(' ')
const TROUBLE = '=EIO =EACCES =ENOSPC =EIO+ ~EIO ~EIO+ $ $$'.split(' ')
const LOST_REPLIES = '~ENOENT ~EEXIST'.split(' ')

const first = (events: readonly string[]) => events.map((event) => `A?${event} B A`)

const PULLS = ['A?% A?% A B', 'A?% A B', 'A?%% A?%% A B', 'A?%% A B']

const SINGLE = 'next2 deviceD devicesDE iccid store move2 round back settle'
const BOTH = [...PAIRS, ...MOVES]

/** By their names. Each is complete when all of its parts are. */
export const SETS: Record<string, readonly Part[]> = {
  pairs: [
    { bases: () => bases('ext4', BOTH, [1, 2]), families: ORDER, isBoth: true },
    { bases: () => bases('held', BOTH, [2]), families: ['A? B A'], isBoth: true },
  ],
  /** Disks on which looks are old, and renames follow files. */
  shares: [
    { bases: () => bases('handles smb nfs', BOTH, [2]), families: ['A? B A'], isBoth: true },
    { bases: () => bases('handles smb nfs', PAIRS, [1]), families: ['A? B? A B'], isBoth: true },
    { bases: () => bases('handles smb nfs', PAIRS, [2]).map(brandNew), families: ['A? B A'], isBoth: true },
    { bases: () => bases('slow', BOTH, [2]), families: ['A? B A'], isBoth: true },
    { bases: () => bases('sshfs', twiceEach('move move2'), [1]), families: ['A?! B', 'A? B A'] },
  ],
  strays: [
    { bases: () => bases('ext4', STRAYS, [1, 2]), families: ['A? B C A'] },
    { bases: () => bases('handles smb nfs', STRAYS, [1]), families: ['A? B C A', 'A? B@3s C A'] },
    { bases: () => bases('ext4', STRAYS, [1]), families: ['A? B? C A B', 'A?@2h B C A', 'A? B@2h C A'] },
  ],
  kills: [
    { bases: () => afterKills('ext4'), families: ['A? B A', 'A?! B'], isBoth: true },
    { bases: () => bases('ext4', BOTH, [2]), families: ['A?! B', 'A?!@2h B'], isBoth: true },
    { bases: () => bases('handles', BOTH, [2]), families: ['A?!@2h B'], isBoth: true },
    { bases: () => bases('skewed', twiceEach(SINGLE), [2]), families: ['A?! B', 'A? B A'] },
  ],
  power: [
    {
      bases: () => bases('ext4 unordered btrfs handles', BOTH, [2]),
      families: first(ENDS.slice(1)),
      isBoth: true,
    },
    {
      bases: () => bases('ext4 unordered btrfs', BOTH, [2]),
      families: ['A? B^0 A', 'A? B?^0'],
      isBoth: true,
    },
    { bases: () => bases('fat', twiceEach(SINGLE), [2]), families: first(ENDS) },
    /** What moves to a stick: it stays readable, and the same command finishes. */
    { bases: () => bases('stick', twiceEach('move2 moveall'), [2]), families: first(ENDS) },
    {
      bases: () =>
        bases('ext4 unordered btrfs', tuples({ deviceE: 'next next2 deviceE' }), [3]).map(assigned),
      families: first(ENDS.slice(1)),
    },
    {
      bases: () => bases('unordered', tuples({ deviceE: 'settle+next deviceE+next' }), [3]).map(assigned),
      families: ['A?! B?^0 C', 'A?! B?^0/1 C'],
    },
  ],
  faults: [
    { bases: () => bases('ext4', BOTH, [2]), families: first(TROUBLE), isBoth: true },
    { bases: () => bases('held', twiceEach(SINGLE), [2]), families: first(TROUBLE) },
  ],
  replies: [{ bases: () => bases('ext4 nfs', BOTH, [2]), families: first(LOST_REPLIES), isBoth: true }],
  double: [
    {
      bases: () => bases('ext4 unordered', twiceEach(SINGLE), [2]),
      families: [
        'A?! B?!',
        'A?^0 B?^0',
        'A?^0.5 B?^0/1',
        'A?~EIO A?! B',
        'A?=EIO A?=EIO A B',
        'A?=EIO B?! A',
      ],
    },
  ],
  /** The stick is pulled amid a move, or ejected, and is there again: at once, or later. */
  pulls: [
    { bases: () => bases('stick', twiceEach('move2 moveall'), [2]), families: PULLS },
    {
      bases: () =>
        bases(
          'ext4',
          tuples({
            move2: 'move2 nextT relay',
            home: 'home next',
            round: 'move',
            back: 'move',
            nextT: 'nextT',
          }),
          [2],
        ),
      families: PULLS,
    },
    {
      bases: () =>
        bases(
          'ext4',
          [
            ['move2', 'lost'],
            ['moveall', 'lost'],
          ],
          [2],
        ),
      families: ['A?% A B', 'A?%% B'],
    },
  ],
  restore: [
    {
      bases: () => bases('ext4', [...twiceEach('next2 deviceD store move2 round'), ...RESTORED], [3]),
      families: ['A?& B A', 'A? B?& A B'],
      isBoth: true,
    },
    {
      bases: () => restoringFrom('backup'),
      families: ['A?!', 'A?! A', 'A?^0', 'A?=EIO'],
    },
    {
      bases: () => restoringFrom('unpacked'),
      families: ['A B?^0'],
    },
  ],
}

const RESTORED = tuples({
  deviceD: 'next move',
  next: 'move home',
  move: 'next nextT home relay',
  store: 'next',
})

/** Nobody has made an identity yet. */
const brandNew = (base: Base): Base => ({ ...base, start: 'new' })

/** Its records are there, and durable. */
const assigned = (base: Base): Base => ({ ...base, start: 'assigned' })

/** The backup is put back in one way or the other, and a call is beside what restores it. */
const restoringFrom = (start: string): Base[] =>
  ['deviceD', 'next']
    .flatMap((call) => bases('ext4', [['restore', call]], [3]))
    .map((base) => ({ ...base, start }))

const swapped = (family: string) =>
  family.replaceAll(/\b[AB](?=[^A-Z]|$)/g, (call) => (call === 'A' ? 'B' : 'A'))

/** A share of the families: that of one process of several. */
export interface Share {
  readonly index: number
  readonly of: number
}

/** A family of schedules on each line that is no comment, under what it does and what once came of it. */
export function known(): { schedule: string; about: string }[] {
  const text = readFileSync(new URL('../../../test/schedule/schedules.txt', import.meta.url), 'utf8')
  let about = ''
  return text.split('\n').flatMap((line) => {
    if (line.startsWith('#')) about = line.replace(/^#+ */, '')
    return /^[a-z]/.test(line) ? { schedule: line, about } : []
  })
}

/** All families of a set. */
export async function familiesOf(name: string): Promise<string[]> {
  if (name === 'sweeps') return known().map(({ schedule }) => schedule)
  const all: string[] = []
  for (const { bases: basesOf, families, isBoth } of SETS[name] ?? [])
    for (const base of await basesOf()) {
      const isSwapped = isBoth && base.calls[0] !== base.calls[1]
      const own = isSwapped ? [...families, ...families.map(swapped)] : families
      all.push(...own.map((family) => `${nameOf(base)}: ${family}`))
    }
  return [...new Set(all)]
}

/**
 * Runs all schedules of a set, until it is told to end.
 * @returns whether it is complete
 */
export async function explore(
  name: string,
  trials: Trials,
  { share, only, goesOn }: { share: Share; only: RegExp; goesOn: () => boolean },
): Promise<boolean> {
  const all = (await familiesOf(name)).filter((family) => only.test(family))
  for (const [at, family] of all.entries()) {
    if (at % share.of !== share.index) continue
    if (!goesOn()) return false
    await sweep(parse(family), trials.trial(`${name} ${family}`), goesOn)
  }
  return goesOn()
}

const ALL_CALLS = [...new Set([...BOTH, ...STRAYS].flat())].filter((name) => !name.startsWith('store'))
const NAPS_MS = [2000, 70_000, 7_200_000]
/** Where a rename that is under way follows its file, a call that sleeps for longer is promised nothing. */
const NAPS_BY_HANDLE_MS = [2000, 70_000]
/** About as many points as a call has. */
const LONGEST = 70

/** By chance. */
export function anyOf(random: Random): Schedule {
  const calls = Array.from({ length: random.whole(2, 4) }, () => random.pick(ALL_CALLS))
  // What the service sends comes once.
  if (random.chance(0.3)) calls[0] = 'store'
  const length = random.whole(2, 7)
  const faulty = new Set(random.chance(0.5) ? [] : [random.whole(1, length), random.whole(1, 2 * length)])
  const kind = random.pick([...KINDS.keys(), 'ext4', 'unordered'].filter((name) => name !== 'sshfs'))
  // On a stick, one call at a time is promised.
  const isAlone = KINDS.get(kind)?.fatAt !== undefined
  const naps = KINDS.get(kind)?.followsFiles ? NAPS_BY_HANDLE_MS : NAPS_MS
  const segments = isAlone
    ? calls.map((_, call) => aloneSegment(random, call))
    : Array.from({ length }, (_, at) => anySegment(random, calls.length, faulty.has(at + 1), naps))
  const start = random.pick([
    'fresh',
    'fresh',
    'assigned',
    'moved',
    'been',
    `next2!${random.whole(1, 9)}`,
    `deviceD!${random.whole(1, 9)}`,
    `move2!${random.whole(1, 20)}`,
  ])
  return { kind, start, profiles: random.whole(1, 3), calls, segments }
}

/** A whole call, or one that is killed. What a pull or a power cut does there, the sets say. */
const aloneSegment = (random: Random, call: number): Segment =>
  random.chance(0.5) ? { call } : { call, points: random.whole(1, LONGEST), event: '!' }

function anySegment(random: Random, calls: number, isFaulty: boolean, naps: readonly number[]): Segment {
  const segment: Segment = {
    call: random.whole(0, calls - 1),
    points: random.whole(1, LONGEST),
    ...(random.chance(0.15) ? { napMs: random.pick(naps) } : {}),
  }
  if (!isFaulty) return segment
  return { ...segment, event: random.pick([...ENDS, ...TROUBLE, ...LOST_REPLIES, '%%', '!', '!']) }
}
