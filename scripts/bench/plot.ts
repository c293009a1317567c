/** A plot of `next` with two logarithmic axes, as SVG that is readable on light and on dark pages. All of it is pure. */
import { svg } from '../svg.ts'
import { grouped, quantity } from './table.ts'

type Point = readonly [x: number, y: number]

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
  const { left, right, top, bottom } = BOX
  const points = [...withHint, ...withoutHint]
  const xTicks = ticks(
    [1],
    points.map(([x]) => x),
  )
  const yTicks = ticks(
    [1, 2, 5],
    points.map(([, y]) => y),
  )
  const toX = scale(xTicks, left, right)
  const toY = scale(yTicks, bottom, top)
  /** Round and square marks, for those who can't tell the colours apart; the name is beside the last one. */
  const line = (kind: 'a' | 'b', name: string, its: readonly Point[], dx: number, dy: number) => {
    const places = its.map(([x, y]): Point => [round(toX(x)), round(toY(y))])
    const [x, y] = places.at(-1) ?? [0, 0]
    const marks = places.map(([x, y]) =>
      kind === 'a'
        ? `<circle class="mark a" cx="${x}" cy="${y}" r="4.5"/>`
        : `<rect class="mark b" x="${round(x - 4)}" y="${round(y - 4)}" width="8" height="8"/>`,
    )
    const label = `${name}: ${quantity(its.at(-1)?.[1] ?? 1, 'ms')}`
    const path = `<polyline class="line ${kind}" points="${places.join(' ')}"/>`
    return [path, ...marks, text(x + dx, y + dy, label, `name ${kind}`, 'end')]
  }
  const parts = [
    text(left, 26, TITLE, 'title'),
    text(left, 48, Y_LABEL),
    text((left + right) / 2, HEIGHT - 14, X_LABEL, '', 'middle'),
    ...xTicks.flatMap((tick) => [
      rule(toX(tick), top, toX(tick), bottom),
      text(toX(tick), bottom + 20, grouped(tick), '', 'middle'),
    ]),
    ...yTicks.flatMap((tick) => [
      rule(left, toY(tick), right, toY(tick)),
      text(left - 10, toY(tick) + 4.5, grouped(tick), '', 'end'),
    ]),
    // The flat line has its name below its end; the one that rises beside the slope.
    ...line('a', 'with the hint', withHint, -4, 26),
    ...line('b', 'without the hint', withoutHint, -16, 4.5),
  ]
  const [least = 0, most = 0] = [xTicks[0], xTicks.at(-1)]
  const description = `From ${grouped(least)} to ${grouped(most)} profiles: constant with the hint, growing with the number of profiles without it.`
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
