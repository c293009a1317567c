/**
 * Collects what killed calls of an earlier version leave: `node scripts/torture/earlier/collect.ts --src <its src>`. It
 * prints `test/fixtures/killed-1.1.json`: each state in which a kill after any step of a call can leave the directories,
 * also of a call that came after a killed one, or while another one was under way.
 */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { iccid } from '../../../test/support/profiles.ts'
import type { Call, Result } from '../schedule/call.ts'
import type { World } from '../schedule/engine.ts'
import { install } from '../schedule/hooks.ts'
import { KINDS } from '../schedule/kinds.ts'
import { loadProgram, type Program } from '../schedule/program.ts'
import { begin, CALLS } from '../schedule/scenarios.ts'
import { namesOf, type State } from './state.ts'

type Body = (call: Call) => Promise<Result>

const { values } = parseArgs({
  options: { src: { type: 'string', default: 'src' }, all: { type: 'boolean' } },
})
const source = `${pathToFileURL(resolve(values.src)).href}/`
install(source)
Error.stackTraceLimit = 0
const program = await loadProgram(source, 'linux')

const MORE: Record<string, (program: Program) => Body> = {
  next3: (each) => each.next({ count: 3 }),
  iccid2: (each) => each.next({ iccid: iccid(2) }),
  iccid3: (each) => each.next({ iccid: iccid(3) }),
}

const bodyOf = (name: string, profiles: number): Body => {
  const make = MORE[name] ?? CALLS[name]
  if (make === undefined) throw new Error(`there is no call ${name}`)
  return make(program, profiles)
}

const MOVES: Record<string, State['move']> = { move: 1, move2: 2, moveall: 'all' }
const PAUSE_MS = 2 * 60_000

interface Scene {
  readonly start: string
  readonly profiles: number
  /** The first is killed after each of its steps. */
  readonly calls: readonly string[]
}

/** A call is killed. */
const ALONE: Scene[] = [
  ...['next', 'next2', 'deviceD', 'devicesDE', 'iccid', 'store', 'move', 'move2', 'moveall'].map((name) => ({
    start: 'fresh',
    profiles: 2,
    calls: [name],
  })),
  { start: 'hint', profiles: 2, calls: ['next'] },
  { start: 'hint', profiles: 2, calls: ['deviceD'] },
  { start: 'answer', profiles: 2, calls: ['recover'] },
  { start: 'assigned', profiles: 2, calls: ['deviceD'] },
  { start: 'assigned', profiles: 2, calls: ['next'] },
  { start: 'assigned', profiles: 2, calls: ['iccid'] },
  { start: 'claimed', profiles: 2, calls: ['deviceD'] },
  { start: 'claimed', profiles: 2, calls: ['next'] },
  { start: 'claimed', profiles: 2, calls: ['iccid'] },
  { start: 'halfclaim', profiles: 2, calls: ['iccid'] },
  { start: 'halfclaim', profiles: 2, calls: ['next'] },
  { start: 'halfclaim', profiles: 2, calls: ['deviceD'] },
]

/** A call is killed; two minutes later, another one, too. */
const AFTER_A_KILL: Scene[] = [
  ['deviceD', 'deviceD'],
  ['deviceD', 'iccid'],
  ['deviceD', 'next2'],
  ['devicesDE', 'deviceD'],
  ['next', 'iccid'],
  ['next2', 'iccid'],
  ['next2', 'next2'],
  ['move', 'move'],
  ['move', 'back'],
  ['move2', 'move2'],
  ['move2', 'back'],
  ['move2', 'next2'],
  ['move', 'iccid'],
  ['move', 'deviceD'],
  ['store', 'next'],
].map((calls) => ({ start: 'fresh', profiles: 2, calls }))

/** The second call comes between two steps of the first one, which is killed after that. */
const AMID: Scene[] = [
  ...[
    ['deviceD', 'deviceD'],
    ['deviceD', 'iccid'],
    ['next', 'iccid'],
    ['next2', 'iccid'],
    ['next2', 'iccid2'],
    ['move', 'back'],
    ['move2', 'back'],
    ['move2', 'iccid2'],
    ['move2', 'next'],
  ].map((calls) => ({ start: 'fresh', profiles: 2, calls })),
  { start: 'fresh', profiles: 3, calls: ['next3', 'iccid3'] },
]

/** By their names and texts. */
const found = new Map<string, { state: Found; kinds: Set<string>; printed: Map<string, string[]> }>()

interface Found {
  readonly after: string
  readonly move: State['move']
  readonly names: Record<string, string | null>
}

function note(world: World, kind: string, after: string, calls: readonly string[]): void {
  const names = namesOf(world.disk)
  const key = JSON.stringify(names)
  const move = calls.map((each) => MOVES[each]).find((each) => each !== undefined)
  const known = found.get(key) ?? { state: { after, move, names }, kinds: new Set(), printed: new Map() }
  known.kinds.add(kind)
  for (const { iccid, device } of world.prints) {
    const print = device === undefined ? [iccid] : [iccid, device]
    known.printed.set(print.join(), print)
  }
  found.set(key, known)
}

function kindOf(name: string) {
  const kind = KINDS.get(name)
  if (kind === undefined) throw new Error(`there is no kind ${name}`)
  return kind
}

/** Lets a call go on, step by step, and notes what a kill leaves there. */
async function killAtEach(world: World, kind: string, call: Call, scene: Scene, before: string) {
  const { start, profiles, calls } = scene
  const letter = String.fromCharCode(65 + world.calls.indexOf(call))
  const noteNow = (more = '') =>
    note(
      world,
      kind,
      `${kind} ${start}/${profiles} ${calls.join('+')}: ${before}${letter}${call.points}!${more}`,
      calls,
    )
  noteNow()
  while (call.state === 'alive') {
    await world.advance(call, 1)
    noteNow()
    const last = call.log.findLast(({ isPoint }) => isPoint)
    const inode = last?.name === 'write' ? world.disk.at(last.path) : undefined
    if (inode === undefined || kind === 'links') continue
    // Another call has put another file in its place.
    if (!last?.touched.includes(`>#${inode.id}`)) continue
    // Where names can't be linked, a file gets its name before its text.
    const { content } = inode
    inode.content = content.subarray(0, content.length / 2)
    noteNow(' torn')
    inode.content = content
  }
}

async function begun(kind: string, { start, profiles, calls: [first = ''] }: Scene, points: number) {
  const world = await begin(program, kindOf(kind), start, profiles)
  const call = world.add(bodyOf(first, profiles))
  await world.advance(call, points)
  return { world, call }
}

const ALL_KINDS = ['links', 'nolinks', 'fat']
for (const kind of ALL_KINDS) {
  for (const scene of ALONE) {
    const { world, call } = await begun(kind, scene, 0)
    await killAtEach(world, kind, call, scene, '')
  }
}
for (const kind of ALL_KINDS) {
  for (const [scenes, isAmid] of [
    [AFTER_A_KILL, false],
    [AMID, true],
  ] as const) {
    for (const scene of scenes) {
      let before = ''
      for (let points = 1; ; points++) {
        const { world, call } = await begun(kind, scene, points)
        if (call.state !== 'alive') break
        const now = JSON.stringify(namesOf(world.disk))
        if (!isAmid && now === before) continue
        before = now
        const second = world.add(bodyOf(scene.calls[1] ?? '', scene.profiles))
        if (isAmid) {
          await world.advance(second)
          await killAtEach(world, kind, call, scene, `A${points} B `)
        } else {
          call.state = 'dead'
          world.now += PAUSE_MS
          await killAtEach(world, kind, second, scene, `A${points}!@120s `)
        }
      }
    }
  }
}

/** Without hard links: while --iccid takes a claim over, the call for the device writes its used file. */
const LATE: Scene = { start: 'fresh', profiles: 2, calls: ['deviceD', 'iccid'] }
const isUsedFile = (path: string) => path.includes('/__')
for (let points = 1; ; points++) {
  const { call } = await begun('nolinks', LATE, points)
  if (call.state !== 'alive') break
  const last = call.log.findLast(({ isPoint }) => isPoint)
  if (last?.name !== 'open wx' || !isUsedFile(last.path)) continue
  for (let others = 1; ; others++) {
    const { world, call: first } = await begun('nolinks', LATE, points)
    const second = world.add(bodyOf('iccid', LATE.profiles))
    await world.advance(second, others)
    if (second.state !== 'alive') break
    await world.advance(first, 1)
    const before = `A${points} B${others} A1 `
    await killAtEach(world, 'nolinks', second, LATE, before)
    await killAtEach(world, 'nolinks', first, LATE, `${before}B `)
  }
}

/** Null where there is a directory. */
function textAt(names: Found['names'], path: string): string | null | undefined {
  const text = names[path]
  return text?.startsWith('=') ? textAt(names, text.slice(1)) : text
}

/** What kind of text a file has. */
function classOf(names: Found['names'], path: string): string {
  const text = textAt(names, path)
  if (text === undefined) return 'none'
  if (text === null) return 'directory'
  if (text.startsWith('{') && !text.trimEnd().endsWith('}')) return 'torn'
  if (text.includes('"moved":')) return 'tombstone'
  return /"device":"(.)"/.exec(text)?.[1] ?? (text === '' ? 'empty' : 'text')
}

/** For each profile and each hidden directory: the kinds of names and of texts. */
function partsOf({ names }: Found): string[] {
  const parts = new Map<string, string[]>()
  for (const path of Object.keys(names)) {
    const whose = /\/\.\w+\//.exec(path)?.[0] ?? /#\d/.exec(path)?.[0] ?? ''
    const kind = `${path.replaceAll(/#\d/g, '#').replaceAll(/#m\d+/g, '#m')}: ${classOf(names, path)}`
    parts.set(whose, [...(parts.get(whose) ?? []), kind])
  }
  for (const [whose, kinds] of parts) if (/^#\d/.test(whose)) kinds.push(claimOf(names, whose))
  return [...parts.values()].map((kinds) => [...new Set(kinds)].sort().join('\n'))
}

/** What else is there of the claim of a profile: the record of the device, or the names of the move. */
function claimOf(names: Found['names'], whose: string): string {
  const used = `source/__${whose}.json`
  const record = textAt(names, `source/.devices/#${classOf(names, used)}.1`)
  if (record) return `recorded: ${record.includes(iccid(Number(whose.slice(1))))}`
  const [, move] = /"move":"(#m\d+)"/.exec(textAt(names, used) ?? '') ?? []
  if (move === undefined) return ''
  const drafts = Object.keys(names).filter((path) => path.startsWith(`source/.moves/${move}/${whose}.json`))
  const decided = classOf(
    names,
    `source/.moves/${move}.whose${names[`source/.moves/${move}.whose/`] === null ? '/' : ''}`,
  )
  return `whose: ${decided}, drafts: ${drafts.length > 0}, mark: ${classOf(names, `target/.moves/${move}.from`)}`
}

/** Of the states that have nothing that others do not have, too, only the first is kept. */
function chosen(): State[] {
  const known = new Set<string>()
  const states: State[] = []
  for (const { state, kinds, printed } of found.values()) {
    const marks = partsOf(state).flatMap((part) => [...kinds].map((kind) => `${kind === 'links'} ${part}`))
    if (!values.all && marks.every((each) => known.has(each))) continue
    for (const each of marks) known.add(each)
    states.push({ ...state, kinds: [...kinds], printed: [...printed.values()], names: numbered(state.names) })
  }
  return states
}

const texts: string[] = []

/** Texts that several states have are there once. */
function numbered(names: Found['names']): State['names'] {
  const entries = Object.entries(names).map(([path, text]) => {
    if (text === null || text.startsWith('=')) return [path, text?.slice(1) ?? null]
    if (!texts.includes(text)) texts.push(text)
    return [path, texts.indexOf(text)]
  })
  return Object.fromEntries(entries)
}

const lines = (all: readonly unknown[]) => all.map((each) => JSON.stringify(each)).join(',\n')
const states = chosen()
console.error(`${found.size} states, ${states.length} of them kept`)
console.log(`{"texts":[\n${lines(texts)}],\n"states":[\n${lines(states)}]}`)
