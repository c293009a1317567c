/** The plot: one call of `next` among ever more unused profiles, with the hint and without. */
import type { Place } from './place.ts'
import { type Point, plot } from './plot.ts'
import { pairs, settle, time } from './run.ts'
import type { Suite } from './scale.ts'
import { median } from './statistics.ts'
import { grouped, type Row } from './table.ts'

/** Profiles that are opened; all others are names. */
const REAL = 10

export const growth: Suite = {
  name: 'plot',
  files: ({ plotted }) => plotted.reduce((sum, count) => sum + count, 0),
  async measure(place, { plotted, plotRuns }) {
    const rows: Row[] = []
    const scan: Point[] = []
    const hint: Point[] = []
    for (const count of plotted) {
      const measured = await measureAt(place, count, plotRuns)
      const first = `\`next\` with ${grouped(count)} unused, without the hint`
      rows.push({ first, second: 'with the hint', unit: 'ms', ...measured })
      scan.push({ x: count, y: median(measured.firsts) })
      hint.push({ x: count, y: median(measured.seconds) })
    }
    const [least = 0] = plotted
    const most = plotted.at(-1) ?? 0
    return {
      rows,
      svg: plot({
        title: 'Time of one call of softsim next, including the start of the process',
        description: `From ${grouped(least)} to ${grouped(most)} profiles: constant with the hint, growing with the number of profiles without it.`,
        xLabel: 'profiles in the directory',
        yLabel: 'milliseconds per call (both axes are logarithmic)',
        series: [
          { label: 'with the hint', points: hint },
          { label: 'without the hint', points: scan },
        ],
      }),
    }
  },
}

/** A call without the hint, which writes it, and one with it; both profiles are put back. */
async function measureAt(place: Place, count: number, runs: number) {
  const directory = await place.newDirectory(count, { real: REAL })
  const next = () => time(place.next(directory))
  settle()
  next()
  place.putBack(directory, 0)
  return pairs(
    place,
    runs,
    () => {
      place.dropHint(directory)
      settle()
      return next()
    },
    () => {
      settle()
      const milliseconds = next()
      for (const n of [0, 1]) place.putBack(directory, n)
      return milliseconds
    },
  )
}
