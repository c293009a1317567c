/** What a killed call of an earlier version has left in the directories, as it is in `test/fixtures/`. */
import { createHash } from 'node:crypto'
import { iccid } from '../../../test/support/profiles.ts'
import type { Disk } from '../schedule/disk.ts'
import { World } from '../schedule/engine.ts'
import type { Inode } from '../schedule/inode.ts'
import { KINDS } from '../schedule/kinds.ts'
import { LOT, LOTS, OTHER, RECEIPTS, STICK } from '../schedule/places.ts'

/** One directory of profiles for each; a name that ends in a slash is a directory. */
export type Names = Readonly<Record<string, string | number | null>>

export interface State {
  /** Schedules after which the directories are like this. */
  readonly after: string
  /** The kinds of disks. */
  readonly kinds: readonly string[]
  /** How the move that was interrupted is repeated, and `back`. */
  readonly move: number | 'all' | undefined
  /** What may have been printed before: the ICCID, then the device if there is one. */
  readonly printed: readonly (readonly string[])[]
  /**
   * The paths, in the directories `source` and `target`: each with the number of its text, or with another path of the
   * same file.
   */
  readonly names: Names
}

export interface Fixture {
  readonly texts: readonly string[]
  readonly states: readonly State[]
}

const SIDES: Record<string, string> = { source: LOT, target: STICK }
const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/g
const ID = /00000000-0000-4000-8000-\d{12}/g
const OWNER = /station(\.[0-9a-f]+)?~\d+~/g
const HINT_DRAFT = /\.unused~\d+/g
const SAME_TIME = '2026-01-01T00:00:00.000Z'
const SAME_OWNER = 'station~99~'
/** The scheduler's random bytes, in a file that reserves space. */
const RANDOM = String.fromCharCode(1)
const RESERVED = new RegExp(`${RANDOM}{9,}`, 'g')

const hashOf = (device: string) => createHash('sha256').update(device).digest('hex')

/** What names have instead of an ICCID, of the hash of a device and of an id, which are long. */
const SHORT = new Map<string, string>([
  ...[1, 2, 3].map((n) => [`#${n}`, iccid(n)] as const),
  ...['D', 'E'].map((device) => [`#${device}`, hashOf(device)] as const),
])

const shortened = (path: string) =>
  [...SHORT].reduce((text, [short, long]) => text.replaceAll(long, short), path)

const expanded = (text: string) =>
  text
    .replaceAll(/#x(\d+)#/g, (_, length) => RANDOM.repeat(length))
    .replaceAll(/#m(\d+)/g, (_, number) => `00000000-0000-4000-8000-${number.padStart(12, '0')}`)
    .replaceAll(/#[\dA-Z]/g, (short) => SHORT.get(short) ?? short)

/** The names and texts of the directories, without what differs from run to run. */
export function namesOf(disk: Disk): Record<string, string | null> {
  const found: [path: string, text: string | null, inode: Inode][] = []
  const visit = (path: string, inode: Inode): void => {
    const names = inode.names?.now
    if (names === undefined) found.push([path, inode.content.toString('latin1'), inode])
    else if (path.includes('/')) found.push([`${path}/`, null, inode])
    for (const [name, child] of [...(names ?? [])].sort()) visit(`${path}/${name}`, child)
  }
  for (const [side, path] of Object.entries(SIDES)) visit(side, disk.find(path, 'names'))
  const ids = new Map<string, string>()
  const same = (text: string) =>
    text
      .replaceAll(RESERVED, ({ length }) => `#x${length}#`)
      .replaceAll(TIME, SAME_TIME)
      .replaceAll(OWNER, SAME_OWNER)
      .replaceAll(HINT_DRAFT, '.unused~99')
      .replaceAll(ID, (id) => {
        const known = ids.get(id) ?? `#m${ids.size + 1}`
        ids.set(id, known)
        return known
      })
  const first = new Map<Inode, string>()
  const names: Record<string, string | null> = {}
  for (const [path, text, inode] of found) {
    const name = shortened(same(path))
    const link = first.get(inode)
    names[name] = link === undefined ? (text === null ? null : same(text)) : `=${link}`
    if (text !== null) first.set(inode, link ?? name)
  }
  return names
}

/** The text of a name of a state. */
export function textIn({ names }: State, texts: readonly string[], path: string): string | undefined {
  const found = names[path]
  if (typeof found === 'string') return textIn({ names } as State, texts, found)
  return typeof found === 'number' ? texts[found] : undefined
}

const HOUR_MS = 3_600_000

/** A disk with such directories; all of its files are an hour old. */
export function worldOf(state: State, texts: readonly string[], kindName: string): World {
  const kind = KINDS.get(kindName)
  if (kind === undefined) throw new Error(`there is no kind ${kindName}`)
  const world = new World(kind)
  const { disk } = world
  for (const path of ['/disk', '/stick', '/third', ...LOTS, OTHER, RECEIPTS]) disk.makeDirectory(path, 0o700)
  disk.actor = { call: '', points: 0, now: world.now - HOUR_MS }
  for (const [path, what] of Object.entries(state.names)) {
    const at = pathOf(path)
    if (what === null) disk.makeDirectory(at.slice(0, -1), 0o700)
    else if (typeof what === 'string') disk.link(pathOf(what), at)
    else put(disk, at, expanded(texts[what] ?? ''))
  }
  flush(disk, '/')
  return world
}

function pathOf(path: string): string {
  const [side = '', ...rest] = path.split('/')
  return expanded(`${SIDES[side]}/${rest.join('/')}`)
}

function put(disk: Disk, path: string, text: string): void {
  const file = disk.open(path, 'wx', 0o600)
  disk.write(file, Buffer.from(text, 'latin1'), null)
  disk.flush(file)
  disk.close(file)
}

/** All names below a directory. */
function flush(disk: Disk, path: string): void {
  const file = disk.open(path, 'r')
  disk.flush(file)
  disk.close(file)
  for (const name of disk.namesOf(path)) {
    const child = `${path === '/' ? '' : path}/${name}`
    if (disk.at(child)?.names !== undefined) flush(disk, child)
  }
}
