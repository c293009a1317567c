/** The kinds of disks, and what each of them does otherwise. */
import { constants } from 'node:fs'
import type { execution } from './engine.ts'
import { flagsOf, type Inode, systemError } from './inode.ts'

type Run = NonNullable<ReturnType<typeof execution>>

export interface Kind {
  readonly name: string
  readonly platform: NodeJS.Platform
  readonly hasFatRules: boolean
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

const PLAIN = { platform: 'linux', hasFatRules: false, skewMs: 0 } as const

const ALL: Kind[] = [
  { ...PLAIN, name: 'links' },
  { ...PLAIN, name: 'nolinks', noLinks: 'EPERM' },
  { ...PLAIN, name: 'erange', noLinks: 'ERANGE' },
  { ...PLAIN, name: 'fat', noLinks: 'EPERM', hasFatRules: true },
  { ...PLAIN, name: 'two-win', letsTwoWin: true },
  { ...PLAIN, name: 'behind', skewMs: -90_000 },
  { ...PLAIN, name: 'ahead', skewMs: 90_000 },
  { ...PLAIN, name: 'verifier', hasVerifiers: true },
  { ...PLAIN, name: 'held', platform: 'win32', hasScanner: true },
  { ...PLAIN, name: 'estale', goesStale: true },
]

export const KINDS: ReadonlyMap<string, Kind> = new Map(ALL.map((kind) => [kind.name, kind]))

const VERIFIER_MS = Date.UTC(1983, 5, 1)
const SCAN_MS = 60
const SETATTR_MS = 500

/** The time of a file, as a call sees it. */
export function timeOf({ world, call }: Run, inode: Inode): number {
  if (!world.kind.hasVerifiers || inode.creator === call.id) return inode.mtimeMs
  const creator = world.calls.find(({ id }) => id === inode.creator)
  const isNew = creator?.points === inode.createdAt && world.now - inode.mtimeMs < SETATTR_MS
  return isNew ? VERIFIER_MS : inode.mtimeMs
}

/** @throws EBUSY while the scanner has the file */
export function checkScanner({ world }: Run, path: string, syscall: string, flags?: number | string): void {
  if (!world.kind.hasScanner) return
  const bits = flags === undefined ? constants.O_RDWR : flagsOf(flags)
  const inode = world.disk.at(path)
  const isChange = (bits & (constants.O_WRONLY | constants.O_RDWR)) !== 0
  if (!isChange || inode === undefined || inode.names !== undefined) return
  if (world.now - inode.mtimeMs < SCAN_MS) throw systemError('EBUSY', syscall, path)
}

/** Whether another call did the same while this one was about to do it, and this one is told that it succeeded. */
export function wonToo({ world, call, isResuming }: Run, what: string): boolean {
  if (!world.kind.letsTwoWin || !isResuming) return false
  return world.moves.some((each) => each.what === what && each.call !== call.id && each.at > call.pausedAt)
}
