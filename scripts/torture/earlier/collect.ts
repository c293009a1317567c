/**
 * Collects what killed calls of an earlier version leave: `node scripts/torture/earlier/collect.ts --src <its src>`. It
 * prints `test/fixtures/killed-1.1.json`: the states in which a kill after any step of a call can leave the directories,
 * also of a call that came after a killed one, or while another one was under way. Of those that differ in nothing that
 * matters, there is one.
 */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import type { World } from '../schedule/engine.ts'
import { install } from '../schedule/hooks.ts'
import type { Inode } from '../schedule/inode.ts'
import { run, setSource } from '../schedule/run.ts'
import { sweep } from '../schedule/sweep.ts'
import { format, type Schedule } from '../schedule/text.ts'
import { RANDOM, SHORT, SIDES } from './state.ts'

const { src } = parseArgs({ options: { src: { type: 'string', default: 'src' } } }).values
const source = `${pathToFileURL(resolve(src)).href}/`
setSource(source)
install(source)
Error.stackTraceLimit = 0

const ALONE = [
  ...['next', 'next2', 'deviceD', 'devicesDE', 'iccid', 'store', 'move', 'move2', 'moveall'],
].map((call) => `fresh/2 ${call}`)
const LATER = ['hint', 'assigned', 'claimed', 'halfclaim'].flatMap((start) =>
  ['next', 'deviceD', 'iccid'].map((call) => `${start}/2 ${call}`),
)
const AFTER_A_KILL =
  'deviceD+deviceD deviceD+iccid deviceD+next2 devicesDE+deviceD next+iccid next2+iccid next2+next2 move+move move+back move2+move2 move2+back move2+next2 move+iccid move+deviceD store+next'
const AMID =
  'deviceD+deviceD deviceD+iccid next+iccid next2+iccid next2+iccid2 move+back move2+back move2+iccid2 move2+next'
const SWEEPS = [
  ...[...ALONE, ...LATER, 'answer/2 recover'].map((scene) => `${scene}: A?!`),
  ...AFTER_A_KILL.split(' ').map((calls) => `fresh/2 ${calls}: A?!@120s B?!`),
  ...AMID.split(' ').map((calls) => `fresh/2 ${calls}: A? B A?!`),
  'fresh/3 next3+iccid3: A? B A?!',
  // While --iccid takes a claim over, the call for the device writes its used file.
  'fresh/2 deviceD+iccid: A? B? A1 B?!',
]

interface Found {
  readonly after: string
  readonly move: number | 'all' | undefined
  readonly kinds: Set<string>
  readonly printed: Map<string, string[]>
  /** By path; null is a directory, and after `=` is another path of the same file. */
  readonly names: Record<string, string | null>
}

const found = new Map<string, Found>()
const MOVES: Record<string, Found['move']> = { move: 1, move2: 2, moveall: 'all' }

function note(world: World, schedule: Schedule, more = ''): void {
  const names = namesOf(world)
  const key = JSON.stringify(names)
  const move = schedule.calls.map((each) => MOVES[each]).find((each) => each !== undefined)
  const after = format(schedule) + more
  const state = found.get(key) ?? { after, move, names, kinds: new Set(), printed: new Map() }
  state.kinds.add(schedule.kind)
  for (const { iccid, device } of world.prints) {
    const print = device === undefined ? [iccid] : [iccid, device]
    state.printed.set(print.join(), print)
  }
  found.set(key, state)
}

for (const kind of ['links', 'nolinks', 'fat']) {
  for (const each of SWEEPS) {
    await sweep(`${kind} ${each}`, async (schedule) => {
      const world = await run(schedule)
      note(world, schedule)
      const killed = world.calls[schedule.segments.at(-1)?.call ?? 0]
      const log = killed?.state === 'dead' ? killed.log : []
      const last = log.findLast(({ isPoint }) => isPoint)
      const inode = last?.name === 'write' ? world.disk.at(last.path) : undefined
      // Where names can't be linked, a file gets its name before its text.
      if (inode !== undefined && kind !== 'links' && last?.touched.includes(`>#${inode.id}`)) {
        inode.content = inode.content.subarray(0, inode.content.length / 2)
        note(world, schedule, ' torn')
      }
      return { world, violation: undefined }
    })
  }
}

/** The names and texts of the directories, without what differs from run to run. */
function namesOf({ disk }: World): Found['names'] {
  const ids = new Map<string, string>()
  const same = (text: string) =>
    text
      .replaceAll(new RegExp(`${RANDOM}{9,}`, 'g'), ({ length }) => `#x${length}#`)
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '2026-01-01T00:00:00.000Z')
      .replaceAll(/station(\.[0-9a-f]+)?~\d+~/g, 'station~99~')
      .replaceAll(/\.unused~\d+/g, '.unused~99')
      .replaceAll(/00000000-0000-4000-8000-\d{12}/g, (id) => {
        const known = ids.get(id) ?? `#m${ids.size + 1}`
        ids.set(id, known)
        return known
      })
  const first = new Map<Inode, string>()
  const names: Found['names'] = {}
  const visit = (path: string, inode: Inode): void => {
    const name = [...SHORT].reduce((text, [short, long]) => text.replaceAll(long, short), same(path))
    const link = first.get(inode)
    if (inode.names === undefined) {
      first.set(inode, link ?? name)
      names[name] = link === undefined ? same(inode.content.toString('latin1')) : `=${link}`
    } else if (path.includes('/')) names[`${name}/`] = null
    for (const [child, its] of [...(inode.names?.now ?? [])].sort()) visit(`${path}/${child}`, its)
  }
  for (const [side, path] of Object.entries(SIDES)) visit(side, disk.find(path, 'names'))
  return names
}

/** Null where there is a directory. */
function textAt(names: Found['names'], path: string): string | null | undefined {
  const text = names[path]
  return text?.startsWith('=') ? textAt(names, text.slice(1)) : text
}

/** What kind of text a file has. */
function classOf(names: Found['names'], path: string): string {
  const text = textAt(names, path)
  if (text == null) return 'directory'
  if (text.startsWith('{') && !text.trimEnd().endsWith('}')) return 'torn'
  if (text.includes('"moved":')) return 'tombstone'
  return /"device":"(.)"/.exec(text)?.[1] ?? (text === '' ? 'empty' : 'text')
}

/** For each profile and each hidden directory: the kinds of names and of texts. */
function partsOf({ names, kinds }: Found): string[] {
  const parts = Map.groupBy(
    Object.keys(names),
    (path) => /\/\.\w+\//.exec(path)?.[0] ?? /#\d/.exec(path)?.[0] ?? '',
  )
  return [...parts].flatMap(([whose, paths]) => {
    const all = paths.map((path) => `${path.replaceAll(/#m?\d+/g, '#')}: ${classOf(names, path)}`)
    // Of the claim of a profile, what else is there: the record of its device, or how its move is decided.
    const used = textAt(names, `source/__${whose}.json`) ?? ''
    const [, about = ''] = /"(?:move|device)":"([^"]+)"/.exec(used) ?? []
    const others = Object.keys(names).filter((path) => about !== '' && path.includes(`/#${about}.`))
    const rest = Object.keys(names).filter((path) => about.startsWith('#m') && path.includes(about))
    const claim = [...others, ...rest].map(
      (path) => `${path.replaceAll(/#m?\d+/g, '#')}: ${classOf(names, path)}`,
    )
    const part = [...new Set([...all, ...claim])].sort().join('\n')
    return [...kinds].map((kind) => `${kind === 'links'} ${part}`)
  })
}

const known = new Set<string>()
const texts: string[] = []
const states = [...found.values()].flatMap((state) => {
  const parts = partsOf(state)
  // It has nothing that others do not have, too.
  if (parts.every((each) => known.has(each))) return []
  for (const each of parts) known.add(each)
  const names = Object.entries(state.names).map(([path, text]) => {
    if (text === null || text.startsWith('=')) return [path, text?.slice(1) ?? null]
    // Texts that several states have are there once.
    if (!texts.includes(text)) texts.push(text)
    return [path, texts.indexOf(text)]
  })
  const [kinds, printed] = [[...state.kinds], [...state.printed.values()]]
  return { ...state, kinds, printed, names: Object.fromEntries(names) }
})
const lines = (all: readonly unknown[]) => all.map((each) => JSON.stringify(each)).join(',\n')
console.error(`${found.size} states, ${states.length} of them kept`)
console.log(`{"texts":[\n${lines(texts)}],\n"states":[\n${lines(states)}]}`)
