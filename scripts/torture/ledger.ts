import { isOwnerAlive, look } from './sight.ts'

/** What must be true of one directory for good. It is kept in memory: nothing of it is on the disk that is cut. */
export class Ledger {
  readonly printed = new Set<string>()
  /** Profiles that `fetch` said are stored, or whose answer was put aside and flushed. */
  readonly kept = new Set<string>()
  /** What was printed for each device. */
  readonly devices = new Map<string, string>()
  readonly problems: string[] = []

  print(iccids: readonly string[]): void {
    for (const iccid of iccids) {
      if (this.printed.has(iccid)) this.problems.push(`printed twice: ${iccid}`)
      this.printed.add(iccid)
    }
  }

  /** A device gets the same profile every time, and no other device gets it. */
  printFor(device: string, [iccid]: readonly string[]): void {
    const had = this.devices.get(device)
    if (iccid === undefined || iccid === had) return
    if (had !== undefined) this.problems.push(`device ${device} got ${had} and ${iccid}`)
    this.devices.set(device, iccid)
    this.print([iccid])
  }

  keep(iccids: readonly string[]): void {
    for (const iccid of iccids) this.kept.add(iccid)
  }

  /** What the disk has, before anything was done about it or after. */
  check(directory: string, isSettled: boolean): void {
    const { unused, used, owned, torn, asides } = look(directory)
    const waits = new Set(
      asides.filter((aside) => !isSettled || isOwnerAlive(aside)).flatMap(({ iccids }) => iccids),
    )
    const tell = (what: string, which: readonly string[]) => {
      if (which.length > 0) this.problems.push(`${what}: ${which.join(', ')}`)
    }
    tell(
      'printed and not marked used',
      [...this.printed].filter((iccid) => !used.has(iccid)),
    )
    tell(
      'unused and used',
      [...unused].filter((iccid) => used.has(iccid) && !owned.has(iccid)),
    )
    tell('torn', torn)
    tell(
      'lost',
      [...this.kept].filter((iccid) => !unused.has(iccid) && !used.has(iccid) && !waits.has(iccid)),
    )
  }
}
