/** The kinds of disks, and what each of them does otherwise: see look.ts and rules.ts. */
export interface Kind {
  readonly name: string
  readonly platform: NodeJS.Platform
  readonly hasFatRules: boolean
  /** As ext4 and xfs: changes of names reach the disk in their order. */
  readonly hasJournal: boolean
  /** As btrfs: the flush of a file writes its name, that of a directory only its own names. */
  readonly bringsNames?: boolean
  /** Whether a flush of all of it in one go succeeds; undefined where none is tried. */
  readonly hasWholeFlush?: boolean
  /** The error of link(2) where there are no hard links. */
  readonly noLinks?: string
  /** How far the clock of the files is ahead of the clock of the calls. */
  readonly skewMs: number
  /** Of two calls that rename or remove the same file at about the same time, both succeed. */
  readonly letsTwoWin?: boolean
  /** A file that was created exclusively has the time of the verifier, until the client sets it right after (NFS). */
  readonly hasVerifiers?: boolean
  /** A scanner holds each new file for a while (Windows). */
  readonly hasScanner?: boolean
  /** Closing a file that another call has removed fails (NFS). */
  readonly goesStale?: boolean
}

const PLAIN = { platform: 'linux', hasFatRules: false, hasJournal: true, skewMs: 0 } as const

const ALL: Kind[] = [
  { ...PLAIN, name: 'links' },
  { ...PLAIN, name: 'unordered', hasJournal: false, hasWholeFlush: false },
  { ...PLAIN, name: 'whole', hasJournal: false, hasWholeFlush: true },
  { ...PLAIN, name: 'btrfs', hasJournal: false, bringsNames: true },
  { ...PLAIN, name: 'nolinks', hasJournal: false, noLinks: 'EPERM' },
  { ...PLAIN, name: 'erange', noLinks: 'ERANGE' },
  { ...PLAIN, name: 'fat', noLinks: 'EPERM', hasFatRules: true, hasJournal: false },
  { ...PLAIN, name: 'two-win', letsTwoWin: true },
  { ...PLAIN, name: 'behind', skewMs: -90_000 },
  { ...PLAIN, name: 'ahead', skewMs: 90_000 },
  { ...PLAIN, name: 'verifier', hasVerifiers: true },
  { ...PLAIN, name: 'held', platform: 'win32', hasScanner: true },
  { ...PLAIN, name: 'estale', goesStale: true },
]

export const KINDS: ReadonlyMap<string, Kind> = new Map(ALL.map((kind) => [kind.name, kind]))
