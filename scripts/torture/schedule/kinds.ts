/** The kinds of disks: what one does otherwise than the others. */

export interface Kind {
  readonly name: string
  readonly platform: NodeJS.Platform
  /** Its number in statfs(2). */
  readonly type: number
  /** As ext4 and xfs: changes of names reach the disk in their order. */
  readonly hasJournal: boolean
  /** Where it is FAT: everywhere, or on the stick. */
  readonly fatAt?: string
  /** As btrfs: the flush of a file writes its name, that of a directory only its own names. */
  readonly bringsNames?: boolean
  /** A rename or removal under way acts on the file that it has found, whatever its name is by then. */
  readonly followsFiles?: boolean
  /** What a rename to a directory that is there says; where it is not said, an empty one is replaced. */
  readonly occupied?: string
  /**
   * For so long, in milliseconds, a client does not ask again for a name that it has looked for, unless it has listed the
   * directory meanwhile, or, with `knowsOwn`, changed a name in it.
   */
  readonly oldLooksMs?: number
  readonly knowsOwn?: boolean
  /** The same for lists. */
  readonly oldListsMs?: number
  /** A file that was created exclusively has the time of the verifier until the client sets it right after. */
  readonly hasVerifiers?: boolean
  /** Closing, reading or flushing a file that another client has removed fails. */
  readonly goesStale?: boolean
  /** A scanner holds each new file for a while. */
  readonly hasScanner?: boolean
  /** A list takes its time: others go on between its hidden names and the rest. */
  readonly hasSlowLists?: boolean
  /** How far the clock of the files is ahead of the clock of the calls. */
  readonly skewMs?: number
}

/** MSDOS_SUPER_MAGIC. */
export const FAT = 0x4d44

export const isFat = ({ fatAt }: Partial<Kind>, path: string) =>
  fatAt !== undefined && `${path}/`.startsWith(fatAt)

const EXT4 = { platform: 'linux', type: 0xef53, hasJournal: true } as const
const WINDOWS = { ...EXT4, platform: 'win32', type: 0, occupied: 'EPERM' } as const

const ALL: Kind[] = [
  { ...EXT4, name: 'ext4' },
  { ...EXT4, name: 'unordered', type: 0xf2f52010, hasJournal: false },
  { ...EXT4, name: 'btrfs', type: 0x9123683e, hasJournal: false, bringsNames: true },
  { ...EXT4, name: 'fat', hasJournal: false, fatAt: '/' },
  { ...EXT4, name: 'stick', fatAt: '/stick/' },
  { ...WINDOWS, name: 'handles', followsFiles: true },
  { ...WINDOWS, name: 'held', hasScanner: true },
  { ...EXT4, name: 'smb', type: 0xfe534d42, followsFiles: true, occupied: 'EEXIST', oldLooksMs: 1000 },
  {
    ...{ ...EXT4, name: 'nfs', type: 0x6969, oldLooksMs: 60_000, knowsOwn: true },
    ...{ hasVerifiers: true, goesStale: true },
  },
  { ...EXT4, name: 'sshfs', type: 0x65735546, oldLooksMs: 20_000, knowsOwn: true, oldListsMs: 20_000 },
  { ...EXT4, name: 'slow', hasSlowLists: true },
  { ...EXT4, name: 'skewed', skewMs: -2 * 3_600_000 },
]

export const KINDS: ReadonlyMap<string, Kind> = new Map(ALL.map((kind) => [kind.name, kind]))
