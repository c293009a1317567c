/**
 * Measures the speed of softsim. Each figure is a ratio of two things that are measured in turns, so that a machine
 * that slows down affects both. The script does not judge the results. It prints a table. A full run also writes the
 * table to .github/bench.md, with a plot beside it, and takes ten minutes or more.
 *
 * `node scripts/bench.ts [--quick] [--only ROW,…] [--dir DIRECTORY]`: --quick measures less. With --quick or --only, the
 * script writes no files to .github. It creates the profiles in DIRECTORY (default: the system's temporary directory).
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { arch, cpus, loadavg, release, tmpdir, totalmem, type } from 'node:os'
import { basename, join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { far, fetch, memory } from './bench/fetch.ts'
import { growth, lot, many, panel, start, stations } from './bench/next.ts'
import { Place } from './bench/place.ts'
import { plot } from './bench/plot.ts'
import { FULL, QUICK, type Scale } from './bench/scale.ts'
import { inShort, median, type Row, table } from './bench/table.ts'

type Suite = (place: Place, scale: Scale) => Promise<Row[]>
const SUITES: Record<string, Suite> = {
  ...{ start, many, panel, lot, stations, fetch, far, memory, plot: growth },
}
const REPORTS = join(import.meta.dirname, '../.github')
const PLOT =
  'Time of one call of next with 10 to 1,000,000 profiles: constant with the hint, growing without it'
const INTRODUCTION = `# Performance of softsim

\`npm run bench\` writes this page. Each row compares A with B, which are measured in turns, in pairs. The ratio is the
median of the ratios of the pairs. Times of processes include their start. The key has 4096 bits.
`

const { quick, only, dir } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: Object.keys(SUITES).join() },
    dir: { type: 'string', default: tmpdir() },
  },
}).values
const tell = (text: string) => process.stderr.write(`${text}\n`)
const names = only.split(',')
if (names.some((name) => !SUITES[name]))
  throw new Error(`--only takes one or more of ${Object.keys(SUITES).join()}`)

const place = new Place(dir)
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => {
    place.clear()
    process.exit(130)
  })
const began = performance.now()
const seconds = () => Math.round((performance.now() - began) / 1000)
try {
  const machine = describeMachine(dir, execFileSync(place.binary, ['-V'], { encoding: 'utf8' }).trim())
  const scale = quick ? QUICK : FULL
  const rows: Row[] = []
  for (const name of names) {
    tell(`${seconds()} s: ${name}`)
    const measured = (await SUITES[name]?.(place, scale)) ?? []
    rows.push(...measured)
    for (const row of measured) tell(`  ${inShort(row)}`)
  }
  const smaller = quick ? ['not a full run'] : []
  const text = `${[...machine, ...smaller].map((line) => `- ${line}\n`).join('')}\n${table(rows)}`
  process.stdout.write(text)
  if (!quick && names.length === Object.keys(SUITES).length) {
    mkdirSync(REPORTS, { recursive: true })
    writeFileSync(join(REPORTS, 'bench.md'), `${INTRODUCTION}\n${text}\n![${PLOT}](bench.svg)\n`)
    const grown = rows.slice(-scale.plotted.length)
    const points = (side: 'firsts' | 'seconds') =>
      grown.map((row, at) => [scale.plotted[at] ?? 0, median(row[side])] as const)
    writeFileSync(join(REPORTS, 'bench.svg'), plot(points('seconds'), points('firsts')))
  }
} finally {
  // A call that Ctrl-C ended fails before this process hears of the signal.
  await turn()
  tell(`${seconds()} s: removing the profiles; this may take minutes`)
  place.clear()
}

/** What the figures depend on, one a line. */
function describeMachine(directory: string, version: string): string[] {
  const gigabytes = Math.round(totalmem() / 1024 ** 3)
  const load = loadavg().map((average) => average.toFixed(1))
  const cpu = cpus()[0]?.model.trim() ?? 'unknown processor'
  return [
    `softsim ${version}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}`,
    `${cpu}, ${cpus().length} cores, ${gigabytes} GB, ${type()} ${release()} ${arch()}`,
    `profiles on ${fileSystem(directory)}; load average before the start ${load.join(', ')}`,
  ]
}

function fileSystem(directory: string): string {
  try {
    const lines = execFileSync('df', ['--output=source,fstype', directory], { encoding: 'utf8' })
    const [device = '', type = ''] = lines.trim().split('\n').at(-1)?.split(/\s+/) ?? []
    // Flushing costs several times as much with a journal.
    const hasJournal = () =>
      readdirSync('/proc/fs/jbd2').some((name) => name.startsWith(`${basename(device)}-`))
    return `${type}${type === 'ext4' && !hasJournal() ? ' without a journal' : ''} (${device})`
  } catch {
    return 'an unknown file system'
  }
}
