/**
 * What comes after a schedule, on a copy of its disk: a backup is put back, time passes, interrupted commands are given
 * again, devices ask again, all is quiet; then everything is handed out.
 */
import { type Body, type Call, type Result, World } from './engine.ts'
import { imageOf } from './inode.ts'
import { LOT, LOTS, ordersIn, type Place, placesIn, placesOf, RECEIPTS, receiptsOf, STICK } from './names.ts'
import type { Move, Program } from './program.ts'
import { programFor } from './run.ts'
import { allCalls, EARLIER, wantOf } from './scenarios.ts'
import type { Schedule } from './text.ts'

const PAUSE_MS = 2 * 60_000
const RUBBISH_MS = 2 * 3_600_000
const MOST_CALLS = 9
const MOST_KNOWN = 4000

/** A call afterwards, and what it was asked for. */
export interface Asked {
  readonly what: 'restore' | 'move' | 'device' | 'settle' | 'next' | 'iccid'
  readonly whose: string
  readonly result: Result
}

export interface After {
  /** When everything is handed out. */
  readonly world: World
  readonly asked: readonly Asked[]
  /** Where the profiles were when all was quiet, and which hidden names were left then. */
  readonly quiet: ReadonlyMap<string, readonly Place[]>
  readonly left: readonly string[]
  /** Whether a backup was restored with some of the receipts first. */
  readonly isPartial: boolean
  /** What came by a command that was given again, and was not in its order. */
  readonly more: readonly string[]
}

const hasGuards = ({ kind }: World): boolean => /^(handles|held|smb|sshfs)$/.test(kind.name)

/** Whether a call that stands still or was killed has the guard of a profile, which nobody gets then for an hour. */
export const isGuarded = (world: World, { outcome, error }: Result): boolean =>
  hasGuards(world) && outcome === 'disk' && error.includes('other calls hold')

/** Whether such a call stands beside one that wanted the profile. */
export const isWaiting = (world: World, { error }: Result): boolean =>
  hasGuards(world) && error.includes('another call has claimed')

/** The different moves of all calls. */
function movesOf({ calls, start }: Schedule): Move[] {
  const all = allCalls(start, calls).flatMap((name) => wantOf(name).moves ?? [])
  return [...new Map(all.map((each) => [Object.values(each).join(), each])).values()]
}

const devicesOf = ({ calls, start }: Schedule): string[] => [
  ...new Set(allCalls(start, calls).flatMap((name) => wantOf(name).devices ?? [])),
]

/** Those that a schedule can reach: a lost stick is not there. */
export const lotsOf = ({ calls }: Schedule): string[] =>
  calls.includes('lost') ? LOTS.filter((lot) => lot !== STICK) : LOTS

const known = new Map<string, Promise<After>>()

/**
 * Once for each state of the disk: many schedules leave the same one.
 * @param receipts those that are given to `restore` at first, if a backup is put back
 */
export function aftermathOf(
  world: World,
  schedule: Schedule,
  receipts: readonly string[] = [],
): Promise<After> {
  const { disk, kind, now, backup } = world
  const roots = [...lotsOf(schedule), ...(backup ? [RECEIPTS] : [])].flatMap((lot) => disk.at(lot) ?? [])
  const images = [...roots, ...(backup ? [backup] : [])].map((root) => imageOf(root, now))
  const key = [kind.name, schedule.start, schedule.calls.join('+'), receipts.join(), ...images].join('\n')
  const found = known.get(key)
  if (found !== undefined) return found
  if (known.size > MOST_KNOWN) known.clear()
  const fresh = aftermath(world, schedule, receipts)
  known.set(key, fresh)
  return fresh
}

async function aftermath(before: World, schedule: Schedule, receipts: readonly string[]): Promise<After> {
  const world = new World(before.kind, before.disk.copy())
  world.now = before.now + PAUSE_MS
  world.trace = before.trace
  const program: Program = await programFor(world.kind)
  const lots = lotsOf(schedule)
  const asked: Asked[] = []
  const ask = async (what: Asked['what'], whose: string, body: Body): Promise<Result> => {
    const call: Call = world.add(body, 1)
    await world.advance(call)
    const result = call.result as Result
    // Nobody reads its steps, and this stays in memory.
    call.log.length = 0
    asked.push({ what, whose, result })
    if (world.trace !== undefined)
      console.log(`-- ${call.id} ${what} ${whose}: ${result.outcome} ${result.error}`)
    return result
  }
  const all = receiptsOf(world.disk)
  if (before.backup !== undefined) {
    world.disk.restore(LOT, before.backup)
    let isNone = false
    for (const paths of [receipts, all]) {
      const { outcome } = await ask('restore', String(paths.length), program.restore(paths))
      isNone = outcome === 'no-profiles'
    }
    // If they name none of its profiles, it needs no receipts.
    if (isNone) await ask('restore', 'none', program.restore([]))
  } else if (schedule.calls.includes('restore')) await ask('restore', 'again', program.restore(EARLIER))
  const more = await moveAgain(world, program, schedule, ask)
  for (const device of devicesOf(schedule)) await ask('device', device, program.next({ devices: [device] }))
  for (let times = 0; times < 2; times++) {
    world.now += RUBBISH_MS
    // The guard of a killed call is rubbish by now.
    if (times === 0 && asked.some(({ what, result }) => what === 'move' && isGuarded(world, result)))
      more.push(...(await moveAgain(world, program, schedule, ask)))
    await ask('settle', '', program.settle(lots))
  }
  const quiet = placesOf(world.disk, lots)
  const left = lots.flatMap((lot) => leftIn(world, lot))
  for (const directory of lots)
    for (let tries = 0; tries < MOST_CALLS; tries++)
      if ((await ask('next', directory, program.next({ directory }))).outcome !== 'done') break
  for (const directory of lots)
    for (const [iccid, [place]] of placesIn(world.disk, directory))
      if (place?.state === 'used' && !isPrinted(before, world, iccid))
        await ask('iccid', iccid, program.next({ iccid, directory }))
  return { world, asked, quiet, left, more, isPartial: receipts.length < all.length }
}

const isPrinted = (before: World, world: World, who: string) =>
  [...before.prints, ...world.prints].some(({ iccid }) => iccid === who)

/** Whoever moved profiles gives the same command again, where a move is not finished: that moves what is left of it. */
async function moveAgain(
  world: World,
  program: Program,
  schedule: Schedule,
  ask: (what: 'move', whose: string, body: Body) => Promise<Result>,
): Promise<string[]> {
  const more: string[] = []
  for (const move of movesOf(schedule)) {
    const { source, target } = move
    const orders = ordersIn(world.disk, target).filter(({ from }) => from === source)
    if (orders.length > 0) {
      const before = placesIn(world.disk, target)
      const named = orders.flatMap(({ names }) => names)
      await ask('move', target, program.move(move))
      for (const [iccid] of placesIn(world.disk, target))
        if (!before.has(iccid) && !named.includes(`${iccid}.json`)) more.push(`${iccid} in ${target}`)
    }
    // What a call that was late holds for a move that is finished did not leave.
    const isLost = !lotsOf(schedule).includes(target)
    if (isHeldIn(world, source))
      await ask('move', source, program.move(move, isLost ? { isLost } : { isBack: true }))
  }
  return more
}

const isHeldIn = ({ disk }: World, lot: string) =>
  disk.namesOf(lot).some((name) => /^\.\d+\.json~.*\+/.test(name))

const STAYING = /^\.(claims|devices|incoming|outgoing|identity|unused)$/

/** What should not be there any more. */
function leftIn({ disk }: World, lot: string): string[] {
  const below = ['.claims', '.incoming', '.outgoing'].flatMap((place) =>
    disk.namesOf(`${lot}/${place}`).map((name) => `${lot}/${place}/${name}`),
  )
  const hidden = disk.namesOf(lot).filter((name) => name.startsWith('.') && !STAYING.test(name))
  const drafts = disk.namesOf(`${lot}/.devices`).filter((name) => name.startsWith('~'))
  return [
    ...below,
    ...hidden.map((name) => `${lot}/${name}`),
    ...drafts.map((name) => `${lot}/.devices/${name}`),
  ]
}
