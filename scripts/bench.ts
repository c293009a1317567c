/**
 * Measures the speed of softsim. Each figure is a ratio of two things that are measured in turns, so that a machine
 * that slows down affects both. The script does not judge the results. It prints a table. A full run also writes the
 * table to .github/bench.md, with a plot beside it, and takes ten minutes or more.
 *
 * `node scripts/bench.ts [--quick] [--only ROW,…] [--dir DIRECTORY]`: --quick measures less. With --quick or --only, the
 * script writes no files to .github. It creates the profiles in DIRECTORY (default: the system's temporary directory).
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { far, fetch, memory } from './bench/fetch.ts'
import { growth } from './bench/growth.ts'
import { checkRoom, describeMachine } from './bench/machine.ts'
import { many, start } from './bench/next.ts'
import { lot, panel, stations } from './bench/panels.ts'
import { Place } from './bench/place.ts'
import { FULL, QUICK, shrunk } from './bench/scale.ts'
import { inShort, type Row, table } from './bench/table.ts'

const SUITES = [start, many, panel, lot, stations, fetch, far, memory, growth]
const NAMES = SUITES.map(({ name }) => name)
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
    only: { type: 'string', default: NAMES.join() },
    dir: { type: 'string', default: tmpdir() },
  },
}).values
const tell = (text: string) => process.stderr.write(`${text}\n`)
const scale = quick ? QUICK : FULL
const chosen = SUITES.filter(({ name }) => only.split(',').includes(name))
if (chosen.length < only.split(',').length) throw new Error(`--only takes one or more of ${NAMES.join()}`)
checkRoom(
  dir,
  chosen.reduce((sum, { files }) => sum + files(scale), 0),
)

const interrupt = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => interrupt.abort())
const place = new Place(dir, interrupt.signal)
const began = performance.now()
const seconds = () => Math.round((performance.now() - began) / 1000)
try {
  const machine = describeMachine(dir, place.version())
  const rows: Row[] = []
  let plot: string | undefined
  for (const { name, measure } of chosen) {
    tell(`${seconds()} s: ${name}`)
    const { rows: more = [], svg } = await measure(place, scale)
    rows.push(...more)
    plot ??= svg
    for (const row of more) tell(`  ${inShort(row)}`)
  }
  const smaller = quick ? [`not a full run: ${shrunk(FULL, QUICK)}`] : []
  const text = `${[...machine, ...smaller].map((line) => `- ${line}\n`).join('')}\n${table(rows)}`
  process.stdout.write(text)
  if (!quick && chosen.length === SUITES.length) {
    mkdirSync(REPORTS, { recursive: true })
    writeFileSync(join(REPORTS, 'bench.md'), `${INTRODUCTION}\n${text}\n![${PLOT}](bench.svg)\n`)
    if (plot !== undefined) writeFileSync(join(REPORTS, 'bench.svg'), plot)
  }
} catch (error) {
  // A call that Ctrl-C ended fails before this process hears of the signal.
  await turn()
  if (!interrupt.signal.aborted) throw error
  tell('interrupted')
  process.exitCode = 130
} finally {
  tell(`${seconds()} s: removing the profiles; this may take minutes`)
  place.clear()
}
