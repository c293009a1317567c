/**
 * Calls of the real code whose steps are made one by one, in any order. A call is paused by replay: it is run from the
 * beginning, its first steps return what they returned before and do nothing, and after its last allowed step every
 * step throws `Paused`. Only an execution without a pause concludes anything.
 */
import { basename, dirname } from 'node:path'
import { Disk, type Kind } from './disk.ts'
import { systemError } from './inode.ts'
import { LOT, LOTS, parseName, profilesIn, STICK } from './names.ts'

/** What is wrong with the last step of a segment. */
interface Fault {
  /** Whether it is done all the same. */
  readonly isDone: boolean
  /** What it is reported as. */
  readonly code: string
  /** From then on, each step of the call on that disk fails the same way. */
  readonly lasts: boolean
}

/** As in `=EIO`, `~EIO` or `=EIO+`; undefined of other events. */
function faultOf(event = ''): Fault | undefined {
  const [, sign, code, more] = /^([=~])([A-Z]+)(\+?)$/.exec(event) ?? []
  return code === undefined ? undefined : { isDone: sign === '~', code, lasts: more === '+' }
}

export interface Entry {
  readonly name: string
  readonly path: string
  readonly value: unknown
  readonly error: unknown
  /** Whether other calls can go on before it. */
  readonly isPoint: boolean
  /** The names and contents that it read (`<`) or changed (`>`). */
  readonly touched: readonly string[]
  /** How many steps all calls had made. */
  readonly at: number
}

/** Which unused profiles the directory has from now on. */
export interface Change {
  readonly at: number
  readonly call: string
  /** The ICCIDs of the files that are there. */
  readonly unused: readonly string[]
  /** Those without a used file, with something in them, and that nobody is claiming. */
  readonly free: readonly string[]
}

/** How a call ended. */
export interface Result {
  readonly code: number
  /** Of the failure, and of any error that is none. */
  readonly error: string
  readonly hint: string
  readonly told: readonly string[]
  /** What `status` printed. */
  readonly printed: string
}

/** A call of the program, its steps so far, and what has come of it. */
export class Call {
  readonly id: string
  readonly pid: number
  readonly body: (call: Call) => Promise<Result>
  readonly log: Entry[] = []
  /** How many points it has passed. */
  points = 0
  state: 'alive' | 'ended' | 'dead' = 'alive'
  result: Result | undefined
  /** What it has said so far. */
  told: string[] = []
  /** How many steps all calls had made when it began and when it ended. */
  beganAt: number | undefined
  endedAt = Number.POSITIVE_INFINITY
  /** How many steps all calls had made when this one was paused. */
  pausedAt = 0
  /** How many steps it had made when it was asked to stop. */
  stopsAt = Number.POSITIVE_INFINITY
  /** After how many steps it has looked whether it is to stop. */
  readonly asked = new Set<number>()
  /** Whether it holds signals back, because it has claimed something. */
  isHeld = false
  /** The disk that is dead for it, and what that says. */
  dead: { readonly root: string; readonly code: string } | undefined

  constructor(id: string, pid: number, body: (call: Call) => Promise<Result>) {
    this.id = id
    this.pid = pid
    this.body = body
  }
}

/** A profile on standard output. */
export interface Print {
  readonly call: string
  readonly iccid: string
  readonly device: string | undefined
  readonly isAgain: boolean
  /** The calls that had decided its used files. */
  readonly owners: readonly string[]
}

class Paused extends Error {}

export const isPause = (reason: unknown) => reason instanceof Paused

/** An error of these tests, not of the program. */
export class HarnessError extends Error {}

interface Execution {
  readonly world: World
  readonly call: Call
  readonly fault: Fault | undefined
  /** Whether the next point is the one before which the call was paused. */
  isResuming: boolean
  at: number
  left: number
  randoms: number
  paused: Error | undefined
}

let current: Execution | undefined

/** The execution that is going on. */
export const execution = () => current

/** 1 January 2026. */
const BEGIN_MS = 1_767_225_600_000

const FIRST_PID = 100
const GROUP = 1000

/** A letter, and the number of its group. */
const idOf = (pid: number) =>
  String.fromCharCode(65 + (pid % GROUP) - FIRST_PID) + (Math.floor(pid / GROUP) || '')

/** More than a call needs random numbers: those of each call are its own. */
export const NONCES = 100_000

/** What all calls share. */
export class World {
  readonly kind: Kind
  disk: Disk
  /** The names in each directory before the first call. */
  before: ReadonlyMap<string, readonly string[]> = new Map()
  now = BEGIN_MS
  steps = 0
  readonly calls: Call[] = []
  readonly prints: Print[] = []
  /** Renames and removals that were done, for the kind in which two calls win. */
  readonly moves: { readonly what: string; readonly call: string; readonly at: number }[] = []
  readonly changes: Change[] = []
  trace: ((call: Call, entry: Entry) => void) | undefined
  #broken: HarnessError | undefined

  constructor(kind: Kind, disk: Disk = new Disk(kind)) {
    this.kind = kind
    this.disk = disk
  }

  /** @param group sets its calls apart from those of other worlds on copies of the same disk */
  add(body: (call: Call) => Promise<Result>, group = 0): Call {
    const pid = FIRST_PID + GROUP * group + this.calls.length
    const call = new Call(idOf(pid), pid, body)
    this.calls.push(call)
    return call
  }

  /** Lets a call pass `points` points, or go to its end. */
  async advance(call: Call, points = Number.POSITIVE_INFINITY, event?: string): Promise<void> {
    if (call.state !== 'alive') return
    const run: Execution = {
      ...{ world: this, call, fault: faultOf(event), isResuming: true },
      ...{ at: 0, left: points, randoms: 0, paused: undefined },
    }
    call.beganAt ??= this.steps
    call.told = []
    current = run
    let result: Result | undefined
    try {
      result = await call.body(call)
    } catch (error) {
      if (run.paused === undefined) throw error
    } finally {
      // What the call has begun and does not wait for is a part of it too.
      await new Promise(setImmediate)
      current = undefined
    }
    if (this.#broken !== undefined) throw this.#broken
    call.pausedAt = this.steps
    if (run.paused !== undefined) return
    call.state = 'ended'
    call.result = result
    call.endedAt = this.steps
  }

  /** Notes which profiles there are, after a step that changed names in their directory. */
  note(call: string, names: readonly string[]): void {
    const all = [...profilesIn(names).values()].filter(({ unused }) => unused !== undefined)
    const claims = this.disk.namesOf(`${LOT}/.claims`)
    const free = all.filter(
      ({ iccid, unused, used }) =>
        used === undefined &&
        this.disk.at(`${LOT}/${unused}`)?.content.length !== 0 &&
        !claims.some((name) => name.includes(iccid)),
    )
    const iccidsOf = (profiles: typeof all) => profiles.map(({ iccid }) => iccid)
    this.changes.push({ at: this.steps, call, unused: iccidsOf(all), free: iccidsOf(free) })
  }

  /** Which calls have decided the used files of a profile: any other one may have put them in their places. */
  ownersOf(iccid: string): string[] {
    const paths = LOTS.flatMap((lot) => this.disk.namesOf(lot).map((name) => `${lot}/${name}`))
    return paths.flatMap((path) => {
      const parsed = parseName(basename(path))
      const inode = parsed?.isUsed && parsed.iccid === iccid ? this.disk.at(path) : undefined
      if (inode === undefined) return []
      const [, nonce] = /"claim":"[-0-9a-f]*-(\d{12})"/.exec(inode.content.toString()) ?? []
      return [nonce === undefined ? inode.creator : idOf(Math.floor(Number(nonce) / NONCES))]
    })
  }

  fail(message: string): HarnessError {
    this.#broken ??= new HarnessError(message)
    return this.#broken
  }

  isAlive(pid: number): boolean {
    return this.calls.some((call) => call.pid === pid && call.state === 'alive')
  }

  /** The stick loses what is not flushed; all calls are gone. */
  pullStick(): void {
    this.#endAll()
    this.disk.lose(dirname(STICK))
  }

  /** Those that have not begun can begin afterwards. */
  #endAll(): void {
    for (const call of this.calls)
      if (call.state === 'alive' && call.beganAt !== undefined) call.state = 'dead'
  }

  /** All calls are gone. */
  cutPower(choose: (length: number) => number): void {
    this.#endAll()
    // Windows can't flush a directory: NTFS journals the names itself.
    this.disk.cutPower(this.kind.platform === 'win32' ? (length) => length : choose)
  }
}

/** Whether the call that is being executed has been asked to stop. */
export function isStopped(): boolean {
  if (current === undefined) return false
  current.call.asked.add(current.at)
  return current.at >= current.call.stopsAt
}

/**
 * One step of the call that is being executed.
 * @param isPoint whether others can see it or influence it
 * @param action what it does; its value must not be changed by anybody
 */
export function step<T>(name: string, path: string, isPoint: boolean, action: (run: Execution) => T): T {
  const run = current
  if (run === undefined) throw new HarnessError(`${name} ${path} outside of a call`)
  if (run.paused !== undefined) throw run.paused
  const { call, world } = run
  const known = call.log[run.at]
  if (known !== undefined) {
    if (known.name !== name || known.path !== path) {
      run.paused = world.fail(
        `not deterministic: step ${run.at} of ${call.id} was ${known.name} ${known.path}, now ${name} ${path}`,
      )
      throw run.paused
    }
    run.at++
    if (known.error !== undefined) throw known.error
    return known.value as T
  }
  if (isPoint && run.left === 0) {
    run.paused = new Paused('paused')
    throw run.paused
  }
  let hasFault = false
  if (isPoint) {
    run.left--
    call.points++
    world.steps++
    world.now++
    // Nobody can tell a printed profile from one that was refused, and no sleep fails.
    hasFault = run.left === 0 && !(name === 'print' && run.fault?.isDone) && !name.startsWith('sleep')
  }
  const { disk } = world
  disk.touched = []
  disk.actor = { call: call.id, points: call.points, now: world.now + world.kind.skewMs }
  let value: T | undefined
  let error: unknown
  try {
    if (call.dead !== undefined && name !== 'close' && path.startsWith(call.dead.root))
      throw systemError(call.dead.code, name, path)
    if (hasFault && run.fault?.lasts)
      call.dead = { root: path.slice(0, path.indexOf('/', 1) + 1) || 'no disk', code: run.fault.code }
    if (hasFault && run.fault?.isDone === false) throw systemError(run.fault.code, name, path)
    value = action(run)
    // A reply that is lost matters where the step is not the same when it is repeated.
    const isLost = run.fault?.code !== 'EIO'
    hasFault &&= !isLost || disk.touched.some((each) => each.startsWith('>'))
    if (hasFault && run.fault !== undefined) throw systemError(run.fault.code, name, path)
  } catch (thrown) {
    if (thrown instanceof HarnessError) {
      run.paused = world.fail(thrown.message)
      throw run.paused
    }
    error = thrown
  }
  if (isPoint) run.isResuming = false
  const entry: Entry = { name, path, value, error, isPoint, touched: disk.touched, at: world.steps }
  call.log.push(entry)
  run.at++
  if (disk.touched.some((each) => each === `>${LOT}/` || each === `>${LOT}/.claims/`))
    world.note(call.id, disk.namesOf(LOT))
  world.trace?.(call, entry)
  if (error !== undefined) throw error
  return value as T
}
