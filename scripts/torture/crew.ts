/** Calls at work in directories of profiles, again and again until they are told to stop. Some of them are killed. */
import { rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Ledger } from './ledger.ts'
import { printedIn, type Run, type Started, start } from './program.ts'
import { look } from './sight.ts'
import type { Works } from './works.ts'

const LATEST_KILL_MS = 900
/** So few that calls name the same device again. */
const DEVICES = 60

interface Kind {
  /** How many profiles the call may have claimed if it is killed. */
  readonly takes?: number
  readonly device?: string | undefined
  /** The chance that it is killed. */
  readonly risk?: number
}

const moveLine = (from: string, to: string, count = 1) => ['move', '-n', String(count), '-i', from, '-o', to]

export class Crew {
  /** Stations go on until nothing is left. */
  isOn = true
  /** Nobody begins anything, and how a call ends is nobody's fault. */
  isCut = false
  kills = 0
  /** How many profiles calls that were killed may have claimed. */
  atStake = 0
  /** How many profiles the service had delivered before the last fetch. */
  #deliveredBefore = 0
  readonly #works: Works
  readonly #ledger: Ledger
  readonly #running = new Set<Started>()

  constructor(works: Works, ledger: Ledger) {
    this.#works = works
    this.#ledger = ledger
  }

  signal(signal: NodeJS.Signals): void {
    for (const each of this.#running) each.signal(signal)
  }

  /** Waits for the end of a call, which may come sooner than it thinks, and notes what it has printed. */
  async see(started: Started, { takes = 0, device, risk = 0 }: Kind = {}): Promise<Run> {
    const { random, tally } = this.#works
    if (random.chance(risk)) setTimeout(started.signal, random.whole(0, LATEST_KILL_MS), 'SIGKILL')
    this.#running.add(started)
    const ended = await started.ended
    this.#running.delete(started)
    const printed = printedIn(ended.stdout)
    tally.add(`profiles printed${device === undefined ? '' : ' for devices'}`, printed.length)
    if (device === undefined) this.#ledger.print(printed)
    else this.#ledger.printFor(device, printed)
    if (ended.hung) this.#ledger.problems.add('a call hung')
    else if (ended.signal === 'SIGKILL') {
      this.kills++
      this.atStake += takes
    } else if (!this.isCut && ended.code !== 0 && ended.code !== 3)
      this.#ledger.problems.add(`a call ended with ${ended.code}: ${ended.stderr}`)
    tally.show('at work')
    return ended
  }

  /** Takes profiles, some of them for devices. */
  async station(directory: string, { risk = 0, forDevices = 0 } = {}): Promise<void> {
    const { random } = this.#works
    while (!this.isCut) {
      const device = random.chance(forDevices) ? `SN ${random.whole(1, DEVICES)}` : undefined
      const takes = device === undefined && random.chance(0.25) ? 3 : 1
      const options = device === undefined ? ['-n', String(takes)] : ['--device', device]
      const call = start(this.#works.nextLine(directory, ...options))
      const { code } = await this.see(call, { takes, device, risk })
      if (code !== 3) continue
      // Three at once may be more than there are.
      if (!this.isOn && takes === 1) return
      await sleep(20)
    }
  }

  /** Fetches a few, and now and then many, which are flushed in one go. */
  async fetching(directory: string, { risk = 0, many = 0 } = {}): Promise<void> {
    const { random } = this.#works
    while (this.isOn && !this.isCut) {
      await this.#fetch(directory, random.chance(many) ? random.whole(64, 100) : random.whole(1, 12), risk)
      await sleep(random.whole(0, 30))
    }
  }

  /** Fetches one answer. */
  async #fetch(directory: string, count: number, risk = 0): Promise<void> {
    this.#deliveredBefore = this.#works.service.delivered.size
    const { code, stderr } = await this.see(this.#works.startFetch(directory, count), { risk })
    if (code === 3) this.#ledger.problems.add(`fetch ended with ${code}: ${stderr}`)
    if (code === 0) this.#ledger.keep(look(directory).unused)
  }

  /** A profile gets its name only when all of its answer is safe: it must last then, whatever becomes of the call. */
  keepPublished(directory: string): void {
    const answer = this.#works.deliveredSince(this.#deliveredBefore)
    const { unused, used, held, decided } = look(directory)
    this.#ledger.keep(decided)
    const named = unused.union(used).union(held)
    if (answer.some((iccid) => named.has(iccid))) this.#ledger.keep(answer)
  }

  /** Moves a few profiles to another directory, or home. Whatever was interrupted there is finished first. */
  async moving(places: readonly [string, string], { risk = 0 } = {}): Promise<void> {
    const { random, tally } = this.#works
    while (this.isOn && !this.isCut) {
      const [from = '', to = ''] = random.shuffled(places)
      await this.see(start(moveLine(from, to, random.whole(1, 5))), { risk })
      tally.add('moves')
      await sleep(random.whole(0, 30))
    }
  }

  /** Gives the command of every move again that may have been interrupted. */
  async finishMoves([here, there]: readonly [string, string]): Promise<void> {
    for (const line of [moveLine(here, there), moveLine(there, here)]) await this.see(start(line))
  }

  /** The hint may be gone, empty, cut off or nonsense at any time. */
  async spoiling(directory: string): Promise<void> {
    const hint = join(directory, '.unused')
    const { random } = this.#works
    const ways = [
      () => rmSync(hint),
      (at: number) => truncateSync(hint, at),
      () => writeFileSync(hint, `softsim unused 1\n${'99999'.padEnd(20)}\n`),
      (at: number) => writeFileSync(hint, Buffer.alloc(at, '7')),
    ]
    while (this.isOn) {
      await sleep(random.whole(1, 120))
      try {
        random.pick(ways)(random.whole(0, 2000))
      } catch {} // It is gone already.
    }
  }

  /** Fetches until there are so many. */
  async stock(directory: string, count: number): Promise<void> {
    while (look(directory).unused.size < count) await this.#fetch(directory, count)
  }
}
