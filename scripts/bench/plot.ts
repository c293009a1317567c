/** A plot of `next` with two logarithmic axes, as SVG that is readable on light and on dark pages. All of it is pure. */
import { svg } from '../svg.ts'
import { grouped, quantity } from './table.ts'

interface Point {
  readonly x: number
  readonly y: number
}

const TITLE = 'Time of one call of softsim next, including the start of the process'
const X_LABEL = 'profiles in the directory'
const Y_LABEL = 'milliseconds per call (both axes are logarithmic)'

const WIDTH = 720
const HEIGHT = 400
/** Where the axes are. */
const BOX = { left: 76, right: 664, top: 64, bottom: 338 }

const STYLE = `
text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #57606a }
.page { fill: #ffffff } .title { font-size: 15px; font-weight: 600; fill: #1f2328 }
.grid { stroke: #d8dee4; stroke-width: 1 } .line { fill: none; stroke-width: 2.5; stroke-linejoin: round }
.name { font-weight: 600 }
.a { stroke: #0969da } .a.mark, .a.name { fill: #0969da; stroke: none }
.b { stroke: #bc4c00 } .b.mark, .b.name { fill: #bc4c00; stroke: none }
@media (prefers-color-scheme: dark) {
text { fill: #9198a1 } .page { fill: #0d1117 } .title { fill: #f0f6fc } .grid { stroke: #30363d }
.a { stroke: #58a6ff } .a.mark, .a.name { fill: #58a6ff }
.b { stroke: #f0883e } .b.mark, .b.name { fill: #f0883e }
}`

export function plot(withHint: readonly Point[], withoutHint: readonly Point[]): string {
  const points = [...withHint, ...withoutHint]
  const xTicks = ticks(
    [1],
    points.map(({ x }) => x),
  )
  const yTicks = ticks(
    [1, 2, 5],
    points.map(({ y }) => y),
  )
  const toX = scale(xTicks, BOX.left, BOX.right)
  const toY = scale(yTicks, BOX.bottom, BOX.top)
  const [least = 0, most = 0] = [xTicks[0], xTicks.at(-1)]
  // The flat line has its name below its end; the one that rises beside the slope.
  const [flat, rising] = [withHint, withoutHint].map((line) => ({ ...(line.at(-1) ?? { x: 1, y: 1 }) }))
  const path = (line: readonly Point[]) =>
    line.map(({ x, y }) => `${round(toX(x))},${round(toY(y))}`).join(' ')
  const description = `From ${grouped(least)} to ${grouped(most)} profiles: constant with the hint, growing with the number of profiles without it.`
  const parts = [
    text(BOX.left, 26, TITLE, 'title'),
    text(BOX.left, 48, Y_LABEL),
    text((BOX.left + BOX.right) / 2, HEIGHT - 14, X_LABEL, '', 'middle'),
    ...xTicks.flatMap((tick) => [
      rule(toX(tick), BOX.top, toX(tick), BOX.bottom),
      text(toX(tick), BOX.bottom + 20, grouped(tick), '', 'middle'),
    ]),
    ...yTicks.flatMap((tick) => [
      rule(BOX.left, toY(tick), BOX.right, toY(tick)),
      text(BOX.left - 10, toY(tick) + 4.5, grouped(tick), '', 'end'),
    ]),
    `<polyline class="line a" points="${path(withHint)}"/>`,
    // Round and square, for those who can't tell the colours apart.
    ...withHint.map(
      ({ x, y }) => `<circle class="mark a" cx="${round(toX(x))}" cy="${round(toY(y))}" r="4.5"/>`,
    ),
    text(
      toX(flat?.x ?? 1) - 4,
      toY(flat?.y ?? 1) + 26,
      `with the hint: ${quantity(flat?.y ?? 1, 'ms')}`,
      'name a',
      'end',
    ),
    `<polyline class="line b" points="${path(withoutHint)}"/>`,
    ...withoutHint.map(
      ({ x, y }) =>
        `<rect class="mark b" x="${round(toX(x) - 4)}" y="${round(toY(y) - 4)}" width="8" height="8"/>`,
    ),
    text(
      toX(rising?.x ?? 1) - 16,
      toY(rising?.y ?? 1) + 4.5,
      `without the hint: ${quantity(rising?.y ?? 1, 'ms')}`,
      'name b',
      'end',
    ),
  ]
  return svg({ width: WIDTH, height: HEIGHT, title: TITLE, description, style: STYLE, parts })
}

/** From the first tick to the last one, logarithmically. */
function scale(ticks: readonly number[], from: number, to: number): (value: number) => number {
  const low = Math.log(ticks[0] ?? 1)
  const high = Math.log(ticks.at(-1) ?? 10)
  return (value) => from + ((Math.log(value) - low) / (high - low)) * (to - from)
}

/** These digits times powers of ten, from the one below all values to the one above. */
function ticks(digits: readonly number[], values: readonly number[]): number[] {
  const all = Array.from({ length: 13 }, (_, power) => digits.map((digit) => digit * 10 ** power)).flat()
  const low = all.findLastIndex((tick) => tick <= Math.min(...values))
  const high = all.findIndex((tick) => tick >= Math.max(...values))
  return all.slice(Math.max(low, 0), high + 1)
}

const round = (value: number) => Number(value.toFixed(1))

const rule = (x1: number, y1: number, x2: number, y2: number) =>
  `<line class="grid" x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}"/>`

const text = (x: number, y: number, content: string, kind = '', anchor = 'start') =>
  `<text x="${round(x)}" y="${round(y)}" class="${kind}" text-anchor="${anchor}">${content}</text>`
