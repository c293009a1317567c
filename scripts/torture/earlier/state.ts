/** What a killed call of an earlier version has left in the directories, as it is in `test/fixtures/`. */
import { createHash } from 'node:crypto'
import { iccid } from '../../../test/support/profiles.ts'
import { World } from '../schedule/engine.ts'
import { KINDS } from '../schedule/kinds.ts'
import { LOT, LOTS, OTHER, RECEIPTS, STICK } from '../schedule/places.ts'

interface Stored {
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
   * same file, or null if it is a directory and ends in a slash.
   */
  readonly names: Readonly<Record<string, string | number | null>>
}

export interface Fixture {
  readonly texts: readonly string[]
  readonly states: readonly Stored[]
}

export interface State extends Stored {
  /** By their paths; directories have none. */
  readonly texts: ReadonlyMap<string, string | undefined>
}

export function statesOf(fixture: string): State[] {
  const { texts, states }: Fixture = JSON.parse(fixture)
  return states.map((state) => {
    const textOf = (what: string | number | null | undefined): string | undefined =>
      typeof what === 'string' ? textOf(state.names[what]) : texts[what ?? -1]
    return {
      ...state,
      texts: new Map(Object.entries(state.names).map(([path, what]) => [path, textOf(what)])),
    }
  })
}

export const SIDES: Record<string, string> = { source: LOT, target: STICK }

/** What names have instead of an ICCID and of the hash of a device, which are long. */
export const SHORT = new Map<string, string>([
  ...[1, 2, 3].map((n) => [`#${n}`, iccid(n)] as const),
  ...['D', 'E'].map((device) => [`#${device}`, createHash('sha256').update(device).digest('hex')] as const),
])

/** The scheduler's random bytes, in a file that reserves space. */
export const RANDOM = String.fromCharCode(1)

const expanded = (text: string) =>
  text
    .replaceAll(/#x(\d+)#/g, (_, length) => RANDOM.repeat(length))
    .replaceAll(/#m(\d+)/g, (_, number) => `00000000-0000-4000-8000-${number.padStart(12, '0')}`)
    .replaceAll(/#[\dA-Z]/g, (short) => SHORT.get(short) ?? short)

function pathOf(path: string): string {
  const [side = '', ...rest] = path.split('/')
  return expanded(`${SIDES[side]}/${rest.join('/')}`)
}

const HOUR_MS = 3_600_000

/** A disk with such directories; all of its files are an hour old. */
export function worldOf({ names, texts }: State, kindName: string): World {
  const kind = KINDS.get(kindName)
  if (kind === undefined) throw new Error(`there is no kind ${kindName}`)
  const world = new World(kind)
  const { disk } = world
  for (const path of ['/disk', '/stick', '/third', ...LOTS, OTHER, RECEIPTS]) disk.makeDirectory(path, 0o700)
  disk.actor = { call: '', points: 0, now: world.now - HOUR_MS }
  for (const [path, what] of Object.entries(names)) {
    const at = pathOf(path)
    if (what === null) disk.makeDirectory(at.slice(0, -1), 0o700)
    else if (typeof what === 'string') disk.link(pathOf(what), at)
    else disk.put(at, Buffer.from(expanded(texts.get(path) ?? ''), 'latin1'))
  }
  disk.flushAll()
  return world
}
