import { printedIn } from './program.ts'
import { look, type Sight } from './sight.ts'
import { Violation } from './tally.ts'
import type { Works } from './works.ts'

/** What must be true of directories for good. It is kept in memory: nothing of it is on a disk that is cut. */
export class Ledger {
  readonly printed = new Set<string>()
  /** Profiles that `fetch` said are stored, or whose answer was put aside and flushed. */
  readonly kept = new Set<string>()
  /** What was printed for each device. */
  readonly devices = new Map<string, string>()
  readonly problems = new Set<string>()

  tell(what: string, which: Iterable<string>): void {
    const all = [...which]
    if (all.length > 0) this.problems.add(`${what}: ${all.join(', ')}`)
  }

  print(iccids: readonly string[]): void {
    for (const iccid of iccids) {
      if (this.printed.has(iccid)) this.problems.add(`printed twice: ${iccid}`)
      this.printed.add(iccid)
    }
  }

  /** A device gets the same profile every time, and no other device gets it. */
  printFor(device: string, [iccid]: readonly string[]): void {
    const had = this.devices.get(device)
    if (iccid === undefined || iccid === had) return
    if (had !== undefined) this.problems.add(`device ${device} got ${had} and ${iccid}`)
    this.devices.set(device, iccid)
    this.print([iccid])
  }

  keep(iccids: Iterable<string>): void {
    for (const iccid of iccids) this.kept.add(iccid)
  }

  /** What the disks have, before anything was done about it or after: then, no move is under way. */
  check(directories: readonly string[], isSettled: boolean): void {
    const sights = directories.map(look)
    const all = (of: (sight: Sight) => Iterable<string>) => new Set(sights.flatMap((each) => [...of(each)]))
    const used = all((each) => each.used)
    const there = used.union(
      all(({ unused, held, coming }) => (isSettled ? unused : unused.union(held).union(coming))),
    )
    // What can be handed out in a directory, or was.
    const places = sights.flatMap(({ unused, used }) => [...unused, ...used])
    this.tell('in two directories', new Set(places.filter((each, at) => places.indexOf(each) !== at)))
    this.tell(
      'torn',
      all(({ torn }) => torn),
    )
    this.tell('printed and not marked used', this.printed.difference(used))
    this.tell('lost', this.kept.difference(there))
  }

  /** When calls have ended that finish what others left. */
  checkFinished(directories: readonly string[]): void {
    this.check(directories, true)
    for (const each of directories) this.tell('still open', look(each).open)
  }

  /** Used up, and not printed. */
  stuck(directories: readonly string[]): string[] {
    return directories.flatMap((each) => [...look(each).used.difference(this.printed)])
  }

  /**
   * Hands out all that is left. No unused profile is passed over, and nothing is lost.
   * @param atStake how many may be used and not printed, because calls were killed
   */
  async finish(works: Works, directories: readonly string[], atStake = 0): Promise<void> {
    for (const each of directories) await this.#empty(works, each)
    this.checkFinished(directories)
    const stuck = this.stuck(directories)
    if (stuck.length > atStake) this.tell('claimed and not printed, beyond those killed', stuck)
    const sights = directories.map(look)
    this.tell('never handed out', this.kept.difference(new Set(sights.flatMap(({ used }) => [...used]))))
    for (const { unused } of sights) this.tell('passed over', unused)
  }

  async #empty(works: Works, directory: string): Promise<void> {
    let most = Number.POSITIVE_INFINITY
    for (;;) {
      const count = Math.min(most, Math.max(1, look(directory).unused.size))
      const { code, stdout, stderr } = await works.next(directory, '-n', String(count))
      this.print(printedIn(stdout))
      if (code === 0) continue
      if (code !== 3) this.problems.add(`the last call ended with ${code}: ${stderr}`)
      if (count === 1 || code !== 3) return
      most = 1
    }
  }

  /** @throws {Violation} */
  end(what: string, evidence: string): void {
    if (this.problems.size > 0)
      throw new Violation(`${what}: ${[...this.problems].join('; ')}\nsee ${evidence}`)
  }
}
