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

/** A line, with its name beside its end. */
interface Series {
  readonly kind: 'a' | 'b'
  readonly name: string
  readonly points: readonly Point[]
  /** Where the name ends, as seen from the last point. */
  readonly offset: readonly [x: number, y: number]
  readonly mark: (x: number, y: number) => string
}

export function plot(withHint: readonly Point[], withoutHint: readonly Point[]): string {
  const points = [...withHint, ...withoutHint]
  const valuesOf = (axis: keyof Point) => points.map((point) => point[axis])
  const xTicks = ticks([1], valuesOf('x'))
  const yTicks = ticks([1, 2, 5], valuesOf('y'))
  const toX = scale(xTicks, BOX.left, BOX.right)
  const toY = scale(yTicks, BOX.bottom, BOX.top)
  // Round and square, for those who can't tell the colours apart.
  const circle = (x: number, y: number) => `<circle class="mark a" cx="${x}" cy="${y}" r="4.5"/>`
  const square = (x: number, y: number) =>
    `<rect class="mark b" x="${round(x - 4)}" y="${round(y - 4)}" width="8" height="8"/>`
  // The flat line has its name below its end; the one that rises beside the slope.
  const lines: readonly Series[] = [
    { kind: 'a', name: 'with the hint', points: withHint, offset: [-4, 26], mark: circle },
    { kind: 'b', name: 'without the hint', points: withoutHint, offset: [-16, 4.5], mark: square },
  ]
  const draw = ({ kind, name, points, offset, mark }: Series) => {
    const places = points.map(({ x, y }) => [round(toX(x)), round(toY(y))] as const)
    const [x, y] = places.at(-1) ?? [0, 0]
    const label = `${name}: ${quantity(points.at(-1)?.y ?? 1, 'ms')}`
    return [
      `<polyline class="line ${kind}" points="${places.join(' ')}"/>`,
      ...places.map((place) => mark(...place)),
      text(x + offset[0], y + offset[1], label, `name ${kind}`, 'end'),
    ]
  }
  const [least = 0, most = 0] = [xTicks[0], xTicks.at(-1)]
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
    ...lines.flatMap(draw),
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
