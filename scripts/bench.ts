/**
 * Measures the speed of softsim. Each figure is a ratio of two things that are measured in turns, so that a machine
 * that slows down affects both. The script does not judge the results. It prints a table. A full run also writes the
 * table to .github/bench.md, and takes ten minutes or more.
 *
 * `node scripts/bench.ts [--quick] [--only ROW,…] [--dir DIRECTORY]`: --quick measures a tenth. With --quick or --only, it
 * does not write the page. It creates the profiles in DIRECTORY (default: the system's temporary directory).
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { arch, cpus, loadavg, release, tmpdir, totalmem, type } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type Row, table } from './bench/measure.ts'
import { openPlace, type Place } from './bench/place.ts'
import { far, fetch, flush, inMemory, many, panel, peak, start, stations } from './bench/rows.ts'

type Suite = (place: Place, part: number) => Promise<Row[]>
const SUITES: Record<string, Suite> = { start, many, panel, stations, fetch, flush, inMemory, far, peak }
const REPORT = join(import.meta.dirname, '../.github/bench.md')
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
const names = only.split(',')
if (names.some((name) => !SUITES[name]))
  throw new Error(`--only takes one or more of ${Object.keys(SUITES).join()}`)

const place = openPlace(dir)
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => {
    place.clear()
    process.exit(130)
  })
const began = performance.now()
const seconds = () => Math.round((performance.now() - began) / 1000)
try {
  const version = execFileSync(place.binary, ['-V'], { encoding: 'utf8' }).trim()
  const machine = describeMachine(dir, version)
  const rows: Row[] = []
  for (const name of names) {
    console.error(`${seconds()} s: ${name}`)
    rows.push(...((await SUITES[name]?.(place, quick ? 0.1 : 1)) ?? []))
  }
  const text = `${[...machine, ...(quick ? ['not a full run'] : [])].map((line) => `- ${line}\n`).join('')}\n${table(rows)}`
  process.stdout.write(text)
  if (!quick && names.length === Object.keys(SUITES).length) writeFileSync(REPORT, `${INTRODUCTION}\n${text}`)
} finally {
  // A call that Ctrl-C ended fails before this process hears of the signal.
  await turn()
  console.error(`${seconds()} s: removing the profiles; this may take minutes`)
  place.clear()
}

/** What the figures depend on, one a line. */
function describeMachine(directory: string, version: string): string[] {
  const df = ['--output=fstype', directory]
  const fileSystem =
    process.platform === 'linux' ? execFileSync('df', df, { encoding: 'utf8' }).split('\n')[1] : type()
  const load = loadavg().map((average) => average.toFixed(1))
  return [
    `softsim ${version}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}`,
    `${cpus()[0]?.model.trim()}, ${cpus().length} cores, ${Math.round(totalmem() / 1024 ** 3)} GB, ${type()} ${release()} ${arch()}`,
    `profiles on ${fileSystem}; load average before the start ${load.join(', ')}`,
  ]
}
