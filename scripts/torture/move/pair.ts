/** Two directories, on one disk or two, the command that moves profiles from one to the other, and its receipts. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Image } from '../image.ts'
import { Ledger } from '../ledger.ts'
import { type Run, run } from '../program.ts'
import { look } from '../sight.ts'
import type { Works } from '../works.ts'

/** How many profiles a move that is interrupted is to move. */
export const MOVED = 5

export interface Disk {
  readonly name: string
  readonly path: string
  /** Undefined if nobody can pull it. */
  readonly image?: Image
}

export interface Disks {
  readonly from: Disk
  readonly to: Disk
}

/** One try to break a move. */
export class Pair {
  readonly works: Works
  readonly source: string
  readonly target: string
  /** On neither of their disks. */
  readonly receipt: string
  readonly images: readonly Image[]
  /** What it is called. */
  readonly name: string
  readonly ledger = new Ledger()
  /** Directories to which profiles may have gone besides. */
  readonly others: string[] = []

  /** @param template what the source has */
  constructor(works: Works, { from, to }: Disks, template?: string) {
    this.works = works
    this.source = join(mkdtempSync(join(from.path, 'source-')), 'profiles')
    this.target = join(mkdtempSync(join(to.path, 'target-')), 'profiles')
    this.receipt = works.newPath('receipt')
    this.images = [...new Set([from, to].flatMap(({ image }) => image ?? []))]
    this.name = from === to ? `on ${from.name}` : `from ${from.name} to ${to.name}`
    if (template === undefined) mkdirSync(this.source, { mode: 0o700 })
    else cpSync(template, this.source, { recursive: true })
    const { unused, asides } = look(this.source)
    this.ledger.keep([...unused, ...asides.flatMap(({ iccids }) => iccids)])
  }

  get directories(): string[] {
    return [this.source, this.target, ...this.others]
  }

  line(count = MOVED): string[] {
    return ['move', '-n', String(count), '-i', this.source, '-o', this.target, '--receipt', this.receipt]
  }

  /** How many profiles are in transit, as the program says. */
  async inTransit(): Promise<number> {
    const { stdout } = await run(['status', '-i', this.source, '--format=json'])
    const { inTransit = 0, unfinished = 0 } = JSON.parse(stdout || '{}')
    return inTransit + unfinished
  }

  /** Runs the same command again if that is not done, and hands all out. @param count how many left the source */
  async finish(isDone: boolean, count = MOVED): Promise<void> {
    const { works, ledger, source, directories } = this
    if (!isDone) {
      const again = await run(this.line())
      if (!saidDone(again)) ledger.problems.add(`move again ended with ${again.code}: ${again.stderr}`)
    }
    await ledger.finish(works, directories)
    this.checkReceipts(true)
    const left = look(source).moved.size
    if (left !== count) ledger.problems.add(`${left} moved, not ${count}`)
  }

  /**
   * Each profile that left has a receipt, and no other has one.
   * @param isAlone no two moves ran at once: both may say then that they were the first to give a profile
   */
  checkReceipts(isAlone: boolean): void {
    const { ledger, receipt, source } = this
    const text = existsSync(receipt) ? readFileSync(receipt, 'utf8') : ''
    const entries: { iccid: string; again: boolean }[] = text
      .split('\n')
      .flatMap((line) => (line.endsWith('}') ? JSON.parse(line) : []))
    const named = new Set(entries.map(({ iccid }) => iccid))
    const left = look(source).moved
    ledger.tell('moved without a receipt', left.difference(named))
    ledger.tell('a receipt, and not moved', named.difference(left))
    if (!isAlone) return
    const firsts = entries.filter(({ again }) => !again).map(({ iccid }) => iccid)
    ledger.tell(
      'two first receipts',
      firsts.filter((iccid, at) => firsts.indexOf(iccid) !== at),
    )
  }

  /** @throws {Violation} */
  end(how: string): void {
    this.ledger.end(`move ${this.name}, ${how}`, this.source, this.target)
    for (const each of [this.source, this.target, this.receipt])
      rmSync(dirname(each), { recursive: true, force: true })
  }
}

/** Whether it said so: a person runs again only what did not. */
export const saidDone = ({ code, stderr }: Run) => code === 0 || / moved to /.test(stderr)
