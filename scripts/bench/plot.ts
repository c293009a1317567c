/** A plot with two logarithmic axes, as SVG that is readable on light and on dark pages. All of it is pure. */
import { grouped, quantity } from './table.ts'

export interface Point {
  readonly x: number
  readonly y: number
}

export interface Series {
  readonly label: string
  readonly points: readonly Point[]
}

export interface Plot {
  readonly title: string
  /** For those who can't see it. */
  readonly description: string
  readonly xLabel: string
  readonly yLabel: string
  readonly series: readonly [Series, Series]
}

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

export function plot(plot: Plot): string {
  const points = plot.series.flatMap((series) => series.points)
  const xTicks = decades(points.map(({ x }) => x))
  const yTicks = steps(points.map(({ y }) => y))
  const toX = scale(xTicks, BOX.left, BOX.right)
  const toY = scale(yTicks, BOX.bottom, BOX.top)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img">`,
    `<title>${escaped(plot.title)}</title>`,
    `<desc>${escaped(plot.description)}</desc>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="page" width="${WIDTH}" height="${HEIGHT}" rx="6"/>`,
    text(BOX.left, 26, plot.title, 'title'),
    text(BOX.left, 48, plot.yLabel),
    text((BOX.left + BOX.right) / 2, HEIGHT - 14, plot.xLabel, '', 'middle'),
    ...xTicks.flatMap((tick) => [
      rule(toX(tick), BOX.top, toX(tick), BOX.bottom),
      text(toX(tick), BOX.bottom + 20, grouped(tick), '', 'middle'),
    ]),
    ...yTicks.flatMap((tick) => [
      rule(BOX.left, toY(tick), BOX.right, toY(tick)),
      text(BOX.left - 10, toY(tick) + 4.5, grouped(tick), '', 'end'),
    ]),
    ...plot.series.flatMap((series, at) => curve(series, at === 0 ? 'a' : 'b', toX, toY)),
    '</svg>\n',
  ].join('\n')
}

/** A line through its points, its name and its last value at the right end. */
function curve({ label, points }: Series, kind: 'a' | 'b', toX: Scale, toY: Scale): string[] {
  const path = points.map(({ x, y }) => `${round(toX(x))},${round(toY(y))}`).join(' ')
  const last = points.at(-1) ?? { x: 1, y: 1 }
  // A line that rises needs its name before its end, beside the slope; a flat one below itself.
  const isFlat = Math.abs(toY(points[0]?.y ?? 1) - toY(last.y)) < 60
  const x = isFlat ? toX(last.x) - 4 : toX(last.x) - 16
  const y = isFlat ? toY(last.y) + 26 : toY(last.y) + 4.5
  return [
    `<polyline class="line ${kind}" points="${path}"/>`,
    ...points.map((point) => mark(toX(point.x), toY(point.y), kind)),
    text(x, y, `${label}: ${quantity(last.y, 'ms')}`, `name ${kind}`, 'end'),
  ]
}

/** Round or square, for those who can't tell the colours apart. */
const mark = (x: number, y: number, kind: 'a' | 'b') =>
  kind === 'a'
    ? `<circle class="mark a" cx="${round(x)}" cy="${round(y)}" r="4.5"/>`
    : `<rect class="mark b" x="${round(x - 4)}" y="${round(y - 4)}" width="8" height="8"/>`

type Scale = (value: number) => number

/** From the first tick to the last one, logarithmically. */
function scale(ticks: readonly number[], from: number, to: number): Scale {
  const low = Math.log(ticks[0] ?? 1)
  const high = Math.log(ticks.at(-1) ?? 10)
  return (value) => from + ((Math.log(value) - low) / (high - low)) * (to - from)
}

/** The powers of ten from the one below all values to the one above. */
const decades = (values: readonly number[]) => ticks([1], values)

/** 1, 2, 5, 10, 20, 50 and so on, from the one below all values to the one above. */
const steps = (values: readonly number[]) => ticks([1, 2, 5], values)

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
  `<text x="${round(x)}" y="${round(y)}" class="${kind}" text-anchor="${anchor}">${escaped(content)}</text>`

const escaped = (content: string) =>
  content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
