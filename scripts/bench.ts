/**
 * Compares the speed of this build of softsim with that of another one, and prints one table. Both are measured in turns,
 * as whole processes in fresh directories: what slows the machine down for a while slows down both of a pair. The script
 * does not judge the results.
 *
 * `node scripts/bench.ts [--against PATH] [--quick] [--only ROW,…] [--dir DIRECTORY]`: PATH is an executable, a softsim.cjs,
 * or a source tree in which one of them was built. Without it, only the rows that compare with Node are measured. --quick
 * measures a tenth. The profiles are made in DIRECTORY (default: the system's temporary directory).
 */
import { execFile, execFileSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { cpus, loadavg, release, tmpdir, type } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { selfSigned } from '../test/support/keys.ts'
import { type ServiceOptions, startService } from '../test/support/service.ts'
import { hostBinary } from './package/host.ts'
import { alike, makeKey } from './stock.ts'

const { against, quick, only, dir } = parseArgs({
  options: {
    against: { type: 'string' },
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    dir: { type: 'string', default: tmpdir() },
  },
}).values

/** A command and its arguments. */
type Line = readonly string[]

const NODE: Line = [process.execPath]
const TREE = join(import.meta.dirname, '..')
const BUNDLE = 'dist/softsim.cjs'
const API_KEY = 'bench-key'

/** One copy of an executable may be some percent faster than another, by where it lies. */
const COPIES = 3

const root = mkdtempSync(join(dir, 'softsim-bench-'))
const places = { disk: root, memory: existsSync('/dev/shm') ? mkdtempSync('/dev/shm/softsim-bench-') : root }
const keyPath = join(root, 'key.pem')
const { publicKey, publicPem } = makeKey(keyPath)
const { nthFile } = alike(publicKey)
const certificate = selfSigned(root)
/** Without what a person has set for softsim. */
const env: NodeJS.ProcessEnv = { PATH: process.env['PATH'], SOFTSIM_API_KEY: API_KEY }
let paths = 0
process.once('SIGINT', () => process.exit(130))
process.once('exit', () => {
  for (const each of Object.values(places)) rmSync(each, { recursive: true, force: true, maxRetries: 5 })
})

/** A path that nothing has been at before. Nothing is removed before the end: that would slow down what follows. */
const newPath = (place: keyof typeof places = 'disk') => join(places[place], String(paths++))

/** A new directory of so many profiles, of which the first ones are used. */
function newDirectory(count: number, used = 0): string {
  const directory = newPath()
  mkdirSync(directory)
  for (let n = 0; n < count; n++) {
    const { name, text } = nthFile(n)
    writeFileSync(join(directory, n < used ? `__${name}` : name), text)
  }
  return directory
}

/** The same kind of executable of this build and of the other one, in copies. */
function programs(): Record<'own' | 'other', Line[]> {
  const other = against ?? TREE
  const isFile = statSync(other).isFile()
  const kinds = isFile ? [other.endsWith('.cjs') ? BUNDLE : hostBinary] : [hostBinary, BUNDLE]
  const trees = isFile ? [TREE] : [TREE, other]
  const kind = kinds.find((each) => trees.every((tree) => existsSync(join(tree, each))))
  if (kind === undefined)
    throw new Error(`build first: no ${kinds.join(' and no ')} in ${trees.join(' and ')}`)
  const copiesOf = (path: string): Line[] =>
    Array.from({ length: COPIES }, () => {
      const copy = newPath()
      copyFileSync(path, copy)
      return kind === BUNDLE ? [...NODE, copy] : [copy]
    })
  return { own: copiesOf(join(TREE, kind)), other: copiesOf(isFile ? other : join(other, kind)) }
}

interface Cost {
  readonly ms: number
  /** Of the processor, in seconds; the system counts hundredths. */
  readonly cpu: number
  /** In MB. */
  readonly memory: number
}

/** The processor time of all children that have ended. Linux alone says it. */
function childTime(): number {
  if (process.platform !== 'linux') return Number.NaN
  const [user, system] = readFileSync('/proc/self/stat', 'utf8').replace(/.*\) /, '').split(' ').slice(13, 15)
  return (Number(user) + Number(system)) / 100
}

/** Its output is a pipe: `next` refuses to print into nothing. */
async function run([command = '', ...args]: Line, more: NodeJS.ProcessEnv = {}): Promise<Cost> {
  const [began, before] = [performance.now(), childTime()]
  const settings = { env: { ...env, ...more }, maxBuffer: Number.POSITIVE_INFINITY }
  const ended = promisify(execFile)(command, args, settings)
  let memory = Number.NaN
  // The system keeps the maximum, so that a look now and then is enough; a short call has none.
  const watch = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${ended.child.pid}/status`, 'utf8')
      memory = Number(/^VmHWM:\s*(\d+) kB/m.exec(status)?.[1] ?? memory * 1024) / 1024
    } catch {} // It has ended.
  }, 100)
  await ended.finally(() => clearInterval(watch))
  return { ms: performance.now() - began, cpu: childTime() - before, memory }
}

type Side = 'own' | 'other'

/** Makes ready what one call of a side needs, which takes no part in the time, and returns its command line. */
type Prepare = (softsim: Line, side: Side) => Line

interface Comparison {
  readonly what: string
  readonly pairs: number
  readonly prepare: Prepare
  /** What this build is compared with; another build that does the same, unless this is given. */
  readonly with?: { readonly what: string; readonly prepare: Prepare }
  readonly env?: NodeJS.ProcessEnv
}

const size = (all: number) => (quick ? Math.ceil(all / 10) : all)
const grouped = (all: number) => size(all).toLocaleString('en-US')

const next = (softsim: Line, directory: string, ...more: Line): Line => [
  ...[...softsim, 'next', '-k', keyPath, '-i', directory, ...more],
]

const kept = new Map<string, string>()

/** A directory of several calls of one side. The first call in it, which is not like the others, is made. */
function keep(key: string, softsim: Line, make: () => string): string {
  const directory = kept.get(key) ?? make()
  if (!kept.has(key)) {
    const [command = '', ...args] = next(softsim, directory)
    execFileSync(command, args, { env })
  }
  kept.set(key, directory)
  return directory
}

const MANY = 100_000
const LEFT = 20
const PROFILES = 30_000
const FAR_MS = 100

function comparisons(url: string, farUrl: string): Record<string, Comparison> {
  let devices = 0
  const one: Prepare = (softsim, side) =>
    next(
      softsim,
      keep(`one ${side}`, softsim, () => newDirectory(200)),
    )
  const manyOf = (softsim: Line, side: Side) => keep(`many ${side}`, softsim, () => newDirectory(size(MANY)))
  /** It finds no list of unused profiles, and reads all names. */
  const first: Prepare = (softsim, side) => {
    rmSync(join(manyOf(softsim, side), '.unused'), { force: true })
    return next(softsim, manyOf(softsim, side))
  }
  const fetch = (softsim: Line, from: string, all: number, place?: 'memory'): Line => [
    ...[...softsim, 'fetch', '-u', from, '-n', String(size(all)), '-o', newPath(place)],
  ]
  const readNames = 'require("fs").readdirSync(process.argv[1])'
  return {
    start: {
      what: '`next`',
      pairs: 40,
      prepare: one,
      with: { what: '`node -e 0`', prepare: () => [...NODE, '-e', '0'] },
    },
    next: { what: '`next`', pairs: 40, prepare: one },
    device: {
      what: '`next --device`',
      pairs: 40,
      prepare: (softsim, side) => [...one(softsim, side), '--device', `SN-${devices++}`],
    },
    panel: {
      what: '`next -n 300`',
      pairs: 7,
      prepare: (softsim) => next(softsim, newDirectory(300), '-n', '300'),
    },
    move: {
      what: '`move` of 1,000',
      pairs: 7,
      prepare: (softsim) => [...softsim, 'move', '-n', '1000', '-i', newDirectory(1000), '-o', newPath()],
    },
    fetch: {
      what: `\`fetch\` of ${grouped(PROFILES)}, in memory`,
      pairs: 5,
      prepare: (softsim) => fetch(softsim, url, PROFILES, 'memory'),
    },
    far: {
      what: `\`fetch\` of ${grouped(PROFILES)}, TLS, answers after ${FAR_MS} ms`,
      pairs: 5,
      prepare: (softsim) => fetch(softsim, farUrl, PROFILES),
      env: { NODE_EXTRA_CA_CERTS: certificate.certPath },
    },
    first: { what: `first \`next\` among ${grouped(MANY)}`, pairs: 9, prepare: first },
    names: {
      ...{ what: `first \`next\` among ${grouped(MANY)}`, pairs: 9, prepare: first },
      with: {
        what: 'Node that reads the names',
        prepare: (softsim) => [...NODE, '-e', readNames, manyOf(softsim, 'own')],
      },
    },
    left: {
      what: `\`next\`, ${LEFT} of ${grouped(MANY)} left`,
      pairs: 9,
      prepare: (softsim, side) =>
        next(
          softsim,
          keep(`left ${side}`, softsim, () => newDirectory(size(MANY), size(MANY) - LEFT)),
        ),
    },
  }
}

/** Measures in turns, and alternates which side is first. */
async function compare(comparison: Comparison, all: Record<Side, Line[]>): Promise<Record<Side, Cost[]>> {
  const costs: Record<Side, Cost[]> = { own: [], other: [] }
  for (let pair = 0; pair < Math.max(2, size(comparison.pairs)); pair++)
    for (const side of pair % 2 === 0 ? (['own', 'other'] as const) : (['other', 'own'] as const)) {
      const softsim = (comparison.with ? all.own : all[side])[pair % COPIES] ?? []
      const prepare = (side === 'other' ? comparison.with?.prepare : undefined) ?? comparison.prepare
      const line = prepare(softsim, side)
      // The disk finishes what was written, which would slow down what is measured.
      if (process.platform !== 'win32') execFileSync('sync')
      costs[side].push(await run(line, comparison.env))
    }
  return costs
}

/** @param values at least one */
function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const half = sorted.length / 2
  return ((sorted[Math.ceil(half) - 1] ?? 0) + (sorted[Math.floor(half)] ?? 0)) / 2
}

const HEAD = [
  '',
  'wall time: ratio (least–greatest)',
  'ms',
  'processor: ratio',
  's a call',
  'MB',
  'pairs',
  'load',
]

function cells({ what, with: other }: Comparison, { own, other: others }: Record<Side, Cost[]>): string[] {
  // Pair by pair; the processor time of a short call is not exact, and that of all is.
  const ratios = own.map(({ ms }, pair) => ms / (others[pair]?.ms ?? Number.NaN))
  const [least, most] = [Math.min(...ratios).toFixed(2), Math.max(...ratios).toFixed(2)]
  const [mine, its] = [own, others].map((costs) => ({
    ms: median(costs.map(({ ms }) => ms)).toFixed(costs.some(({ ms }) => ms > 1000) ? 0 : 1),
    cpu: costs.reduce((sum, { cpu }) => sum + cpu, 0) / costs.length,
    memory: Math.max(...costs.map(({ memory }) => memory)).toFixed(0),
  })) as [Sum, Sum]
  return [
    `${what} / ${other?.what ?? 'the other'}`,
    `**${median(ratios).toFixed(2)}** (${least}–${most})`,
    `${mine.ms} / ${its.ms}`,
    `**${(mine.cpu / its.cpu).toFixed(2)}**`,
    `${mine.cpu.toFixed(3)} / ${its.cpu.toFixed(3)}`,
    `${mine.memory} / ${its.memory}`,
    String(own.length),
    (loadavg()[0] ?? 0).toFixed(1),
  ].map((cell) => cell.replaceAll('NaN', '–'))
}

type Sum = { ms: string; cpu: number; memory: string }

const all = programs()
const settings: ServiceOptions = {
  apiKeys: [{ key: API_KEY, kind: 'softsim', publicKey: publicPem }],
  ...{ callsPerMinute: 1e9, allProfilesAlike: true, firstIccid: 0 },
}
const [near, far] = [await startService(settings), await startService({ ...settings, tls: certificate })]
far.fault({ kind: 'delay', ms: FAR_MS, times: Number.POSITIVE_INFINITY })
try {
  const rows = Object.entries(comparisons(near.url, far.httpsUrl ?? ''))
  const wanted = only?.split(',') ?? rows.map(([name]) => name)
  const unknown = wanted.filter((name) => !rows.some(([row]) => row === name))
  if (unknown.length > 0) throw new Error(`no row ${unknown.join()}: ${rows.map(([name]) => name).join()}`)
  const fileSystem =
    process.platform === 'linux'
      ? execFileSync('stat', ['-fc', '%T', dir], { encoding: 'utf8' }).trim()
      : type()
  console.log(
    `Node ${process.version}, ${cpus().length} processors ${cpus()[0]?.model.trim()}, ${type()} ${release()}, ${fileSystem}\n`,
  )
  for (const line of [HEAD, HEAD.map(() => '---')]) console.log(`| ${line.join(' | ')} |`)
  for (const [name, row] of rows) {
    if (!wanted.includes(name) || (against === undefined && row.with === undefined)) continue
    console.log(`| ${cells(row, await compare(row, all)).join(' | ')} |`)
  }
} finally {
  await Promise.all([near.close(), far.close()])
  for (const each of new Set(Object.values(places)))
    rmSync(each, { recursive: true, force: true, maxRetries: 5 })
}
