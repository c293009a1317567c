/**
 * In which order a move makes its steps durable, as rules and not as a list of steps: before each step that removes
 * something, the disk must have what takes its place, also after a power cut.
 */
import { iccid } from '../../../test/support/profiles.ts'
import type { Disk } from './disk.ts'
import type { World } from './engine.ts'
import { profilesIn } from './names.ts'
import { LOT, LOTS, STICK } from './places.ts'
import type { Schedule } from './text.ts'

/** What a power cut would leave of a profile in a directory, at the least. */
function durable(disk: Disk, lot: string, n: number): 'unused' | 'used' | undefined {
  const files = disk.at(lot)?.names?.flushed ?? new Map()
  const found = profilesIn([...files.keys()]).get(iccid(n))
  const isWhole = (name: string | undefined) => {
    const file = files.get(name ?? '')
    return file !== undefined && file.flushed.length > 0 && file.flushed.equals(file.content)
  }
  if (isWhole(found?.used)) return 'used'
  return found?.used === undefined && isWhole(found?.unused) ? 'unused' : undefined
}

/** Whether a claim would be there, or, with a journal, come before the removal of what it replaces. */
function isDecided(disk: Disk, n: number): boolean {
  const claims = disk.at(`${LOT}/.claims`)?.names
  const { flushed, now } = (disk.hasJournal ? claims?.now : claims?.flushed)?.get(iccid(n))?.names ?? {}
  const texts = [...((disk.hasJournal ? now : flushed) ?? [])]
  return texts.some(([, file]) => file.flushed.length > 0 && file.flushed.equals(file.content))
}

/** Which profile an unused name of a directory stands for. */
const unusedIn = (lot: string, path: string): number | undefined => {
  const [named] = path.startsWith(`${lot}/`) ? profilesIn([path.slice(lot.length + 1)]).values() : []
  return named?.unused === undefined ? undefined : Number(named.iccid.slice(4, -1))
}

/**
 * What looks at each step of a schedule before it is made.
 * @param tell is told the rules that are violated, each with the step
 */
export function orderOf({ profiles }: Schedule, tell: (what: string) => void): NonNullable<World['watch']> {
  const all = Array.from({ length: profiles }, (_, n) => n + 1)
  return ({ disk }, name, path) => {
    const fail = (rule: string) => tell(`${rule}: ${name} ${path}`)
    const [, to = ''] = /^(?:rename|link) to (.*)$/.exec(name) ?? []
    const isRemoval = /^(unlink|rename)/.test(name) && disk.at(path) !== undefined
    const leaves = isRemoval ? unusedIn(LOT, path) : undefined
    if (
      leaves !== undefined &&
      !to.startsWith(`${LOT}/__`) &&
      durable(disk, LOT, leaves) !== 'used' &&
      !isDecided(disk, leaves)
    )
      fail('an unused file is removed only after the text of the used file is flushed, and it is decided')
    const comes = unusedIn(STICK, to || (name === 'open wx' ? path : ''))
    if (comes !== undefined && durable(disk, LOT, comes) === 'unused')
      fail('the target gets a profile only after the flush of its used file in the source')
    if (comes !== undefined && disk.at(LOT)?.names?.flushed.has(`${iccid(comes)}.json`))
      fail('the target gets a profile only after the flush of the removal of the unused file in the source')
    const isRecord = /^(unlink|rename)/.test(name) && path.startsWith(`${LOT}/.moves/`) && to === ''
    if (isRecord && !all.every((n) => LOTS.some((lot) => durable(disk, lot, n) === 'unused')))
      fail(
        'what a move has in mind is forgotten only after its profiles are flushed as unused ones somewhere',
      )
  }
}
