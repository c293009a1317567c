/** The files and directories of a disk in memory, and what a power cut does to them. */
import { constants as system } from 'node:os'

export const { constants } = process.getBuiltinModule('node:fs')

/** A file or a directory, whatever its names. */
export interface Inode {
  readonly id: number
  content: Buffer
  flushed: Buffer
  mtimeMs: number
  mode: number
  /** What stands for its clusters: after a power cut, two names on FAT may lead to the same ones. */
  readonly clusters: number
  readonly names: Names | undefined
  /** The call that created it, and how many points that call had made. */
  readonly creator: string
  readonly createdAt: number
}

type Entries = Map<string, Inode>

export interface Names {
  flushed: Entries
  /** What is not flushed, in its order. */
  changes: Step[]
  now: Entries
}

/** A name gets an inode, or loses its own. */
export type Change = readonly (readonly [name: string, inode: Inode | undefined])[]

/** A change, and when it was made. */
export interface Step {
  readonly at: number
  readonly change: Change
}

export interface OpenFile {
  readonly inode: Inode
  readonly path: string
  place: number
  readonly appends: boolean
}

/** A system error as Node throws it. */
export function systemError(code: string, syscall: string, path: string): Error {
  const errno = -((system.errno as Record<string, number>)[code] ?? 1)
  return Object.assign(new Error(`${code}: ${syscall} '${path}'`), { code, errno, syscall, path })
}

const FLAGS: Record<string, number> = {
  r: constants.O_RDONLY,
  'r+': constants.O_RDWR,
  w: constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC,
  wx: constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL,
  'a+': constants.O_RDWR | constants.O_CREAT | constants.O_APPEND,
}

export const flagsOf = (flags: number | string) => (typeof flags === 'number' ? flags : (FLAGS[flags] ?? 0))

/** Who acts, and when. */
export interface Actor {
  readonly call: string
  readonly points: number
  readonly now: number
}

/** A copy of all that is below a directory. */
export function copyOf(inode: Inode, copies = new Map<Inode, Inode>()): Inode {
  const known = copies.get(inode)
  if (known !== undefined) return known
  const { names } = inode
  const own: Names | undefined = names && { flushed: new Map(), changes: [], now: new Map() }
  const copied: Inode = { ...inode, names: own }
  copies.set(inode, copied)
  if (names === undefined || own === undefined) return copied
  for (const [name, child] of names.flushed) own.flushed.set(name, copyOf(child, copies))
  for (const [name, child] of names.now) own.now.set(name, copyOf(child, copies))
  own.changes = names.changes.map(({ at, change }) => ({
    at,
    change: change.map(([name, child]) => [name, child && copyOf(child, copies)] as const),
  }))
  return copied
}

/** How old a file is matters in half minutes; when a device got its profile does not matter. */
const AGE_MS = 30_000
const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/g

/** All files below a directory with their contents, as a text that is the same for disks that behave alike. */
export function imageOf(root: Inode, now: number): string {
  const groups = new Map<Inode, number>()
  const lines: string[] = []
  const visit = (at: string, inode: Inode): void => {
    const names = inode.names?.now
    if (names === undefined) {
      if (!groups.has(inode)) groups.set(inode, groups.size)
      const age = Math.round((now - inode.mtimeMs) / AGE_MS)
      lines.push(`${at} ${groups.get(inode)} ${age} ${inode.content.toString('latin1')}`)
      return
    }
    lines.push(`${at}/`)
    for (const [name, child] of [...names].sort(([one], [other]) => (one < other ? -1 : 1)))
      visit(`${at}/${name}`, child)
  }
  visit('', root)
  return lines.join('\n').replaceAll(TIME, '')
}

export const EMPTY = Buffer.alloc(0)

export function apply(change: Change, entries: Entries): void {
  for (const [name, inode] of change) {
    if (inode === undefined) entries.delete(name)
    else entries.set(name, inode)
  }
}

export function settle(inode: Inode, choose: (length: number) => number, done: Set<Inode>): void {
  if (done.has(inode)) return
  done.add(inode)
  const { names } = inode
  if (names === undefined) {
    if (!inode.content.equals(inode.flushed))
      inode.content = inode.content.subarray(0, choose(inode.content.length))
    inode.flushed = inode.content
    return
  }
  for (const { change } of names.changes.slice(0, choose(names.changes.length))) apply(change, names.flushed)
  names.changes = []
  names.now = new Map(names.flushed)
  for (const child of names.now.values()) settle(child, choose, done)
}

/** Whatever other name leads to them has nothing of its own any more. */
export function freeClusters(clusters: number, inode: Inode): void {
  for (const child of inode.names?.now.values() ?? []) freeClusters(clusters, child)
  if (inode.names === undefined && inode.clusters === clusters) {
    inode.content = Buffer.alloc(inode.content.length)
    inode.flushed = inode.content
  }
}

/** On FAT what is known of a file is in its directory: the flush of the one writes the name in the other. */
export function flushEntry(inode: Inode, directory: Inode): void {
  for (const [name, child] of directory.names?.now ?? []) {
    if (child === inode) directory.names?.flushed.set(name, inode)
    else flushEntry(inode, child)
  }
}

/** What changes for others when a directory gets another name. */
export function pathsBelow(path: string, { names }: Inode): string[] {
  if (names === undefined) return [`>${path}`]
  return [`>${path}/`, ...[...names.now].flatMap(([name, child]) => pathsBelow(`${path}/${name}`, child))]
}

/** All directories below one, in what is there, what was, and what is about to be. */
function* directoriesIn(inode: Inode, done = new Set<Inode>()): Generator<Names> {
  const { names } = inode
  if (names === undefined || done.has(inode)) return
  done.add(inode)
  yield names
  const changed = names.changes.flatMap(({ change }) => change.flatMap(([, child]) => child ?? []))
  for (const child of [...names.now.values(), ...names.flushed.values(), ...changed])
    yield* directoriesIn(child, done)
}

/** The steps below a directory that are not flushed, in their order. */
export const stepsIn = (root: Inode): Step[] =>
  [...directoriesIn(root)].flatMap(({ changes }) => changes).sort((one, other) => one.at - other.at)

/** A journal: what was done until then is on the disk. What was done later stays to be done, or is forgotten. */
export function writeUntil(root: Inode, at: number, forgets = false): void {
  for (const names of [...directoriesIn(root)]) {
    for (const { change } of names.changes.filter((each) => each.at <= at)) apply(change, names.flushed)
    names.changes = names.changes.filter((each) => !forgets && each.at > at)
  }
}
