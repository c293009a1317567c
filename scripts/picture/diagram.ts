/** Draws a diagram of two columns from text: boxes below each other, arrows between them, and what stands beside them. */
import { escaped, svg } from '../svg.ts'

interface Row {
  /** A box. A question mark at its end makes it a question. */
  readonly left: string
  /** A second box, if an arrow leads to it, or else a note. */
  readonly right?: string | undefined
  /** What stands at the arrow from left to right. */
  readonly across?: string | undefined
  /** What stands at the arrow to the next row. */
  readonly down?: string
  readonly downRight?: string | undefined
}

interface Diagram {
  readonly title: string
  readonly rows: readonly Row[]
}

const [BOX, GAP, MARGIN, LINE, BETWEEN, LETTERS] = [184, 50, 10, 17, 38, 26]
const LEFT = MARGIN
const RIGHT = MARGIN + BOX + GAP
const WIDTH = RIGHT + BOX + MARGIN

const STYLE = `text { font: 13px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: #1f2328 }
.page { fill: #f6f8fa } .box { fill: #fff; stroke: #57606a } .question { fill: #ddf4ff; stroke: #0969da }
.arrow { stroke: #57606a; stroke-width: 1.5; fill: none } .head { fill: #57606a } .label, .note { fill: #57606a }
@media (prefers-color-scheme: dark) {
.page { fill: #161b22 } .box { fill: #0d1117; stroke: #8b949e } .question { fill: #0c2d4d; stroke: #58a6ff } text { fill: #f0f6fc }
.arrow { stroke: #8b949e } .head { fill: #8b949e } .label, .note { fill: #b1bac4 }
}`

export function drawDiagram({ title, rows }: Diagram): string {
  const heights = rows.map(
    ({ left, right = '' }) => LINE * Math.max(wrap(left).length, wrap(right).length) + 18,
  )
  const tops = heights.map(
    (_, at) => MARGIN + heights.slice(0, at).reduce((sum, each) => sum + each + BETWEEN, 0),
  )
  const height = (tops.at(-1) ?? 0) + (heights.at(-1) ?? 0) + MARGIN
  const parts = rows.flatMap((row, at) =>
    drawRow(row, rows[at - 1]?.downRight, tops[at] ?? 0, heights[at] ?? 0),
  )
  return svg({ width: WIDTH, height, title, description: rows.map(inWords).join(' '), style: STYLE, parts })
}

function drawRow(row: Row, fromAbove: string | undefined, top: number, height: number): string[] {
  const { left, right, across, down, downRight } = row
  const middle = top + height / 2
  const isBox = across !== undefined || fromAbove !== undefined
  return [
    ...box(left, LEFT, top, height),
    ...(right === undefined
      ? []
      : isBox
        ? box(right, RIGHT, top, height)
        : lines('note', right, RIGHT, middle, 'start')),
    ...(across === undefined ? [] : arrow(LEFT + BOX, middle, GAP, 0, across)),
    ...(down === undefined ? [] : arrow(LEFT + 28, top + height, 0, BETWEEN, down)),
    ...(downRight === undefined ? [] : arrow(RIGHT + 28, top + height, 0, BETWEEN, downRight)),
  ]
}

function box(words: string, x: number, y: number, height: number): string[] {
  const kind = words.endsWith('?') ? 'question' : 'box'
  const rect = `<rect class="${kind}" x="${x}" y="${y}" width="${BOX}" height="${height}" rx="5"/>`
  return [rect, ...lines('words', words, x + BOX / 2, y + height / 2, 'middle')]
}

function arrow(x: number, y: number, dx: number, dy: number, label: string): string[] {
  const [toX, toY] = [x + dx, y + dy]
  const head =
    dx > 0
      ? `${toX},${toY} ${toX - 7},${toY - 4} ${toX - 7},${toY + 4}`
      : `${toX},${toY} ${toX - 4},${toY - 7} ${toX + 4},${toY - 7}`
  const at =
    dx > 0
      ? text('label', label, x + dx / 2 - 3, y - 11, 'middle')
      : text('label', label, x + 10, y + dy / 2, 'start')
  return [
    `<path class="arrow" d="M${x} ${y}L${toX - Math.sign(dx) * 5} ${toY - Math.sign(dy) * 5}"/><polygon class="head" points="${head}"/>`,
    ...(label === '' ? [] : [at]),
  ]
}

function lines(kind: string, words: string, x: number, middle: number, anchor: string): string[] {
  const all = wrap(words)
  return all.map((line, at) => text(kind, line, x, middle + (at - (all.length - 1) / 2) * LINE, anchor))
}

const text = (kind: string, line: string, x: number, y: number, anchor: string) =>
  `<text class="${kind}" x="${x}" y="${y}" text-anchor="${anchor}" dominant-baseline="central">${escaped(line)}</text>`

/** A line break in the words stays. */
const wrap = (words: string): string[] =>
  words
    .split('\n')
    .flatMap(
      (line) => line.match(new RegExp(`.{1,${LETTERS}}(?= |$)`, 'g'))?.map((each) => each.trim()) ?? [],
    )

/** For whoever can't see the picture. */
const inWords = ({ left, right, across, down }: Row) =>
  [left, across && `(${across}):`, right, down && `Then, ${down}:`]
    .filter(Boolean)
    .join(' ')
    .replaceAll('\n', ' ')

/**
 * A line for each row: the box; behind `|` a note, or behind an arrow what stands at it and the second box. Below it,
 * behind `v`, what stands at the arrows to the next row. `//` is a line break, and what is indented more goes on.
 */
function diagramOf(title: string, text: string): Diagram {
  const rows: Row[] = []
  for (const line of text
    .trim()
    .replaceAll(/\n {6,}/g, ' ')
    .replaceAll(' // ', '\n')
    .split(/\n {4}/)) {
    const [, down, downRight] = /^v(?: (.*?)(?: v (.*))?)?$/.exec(line) ?? []
    const [left = '', across, right] = line.split(/ (?:--(.*)-->|\|) /)
    if (/^v\b/.test(line)) rows.push({ ...(rows.pop() as Row), down: down ?? '', downRight })
    else rows.push({ left, across, right })
  }
  return { title, rows }
}

export const DIAGRAMS: Readonly<Record<string, Diagram>> = {
  flow: diagramOf(
    'From the service to the device, and where keys, receipts and backups live',
    `
    Profile service | Has your public key: only your private key opens the profiles
    v softsim fetch, over the internet
    PC with internet // directory of profiles | The API key lives here, and nowhere else
    v softsim move: never copy
    Stick or share // directory of profiles | All profiles are still encrypted. No key belongs here
    v softsim move, or stations share it
    Station // directory of profiles | The private key lives here, with a backup in a safe. Receipts and results
      are written here. After each shift, keep them and a backup of the directory on another disk
    v softsim next, without internet
    Device | One device, one profile`,
  ),
  states: diagramOf(
    'The states of a profile',
    `
    at the service | Paid for when it is allocated
    v fetch
    unused // <iccid>.json --move--> in transit
    v next begins v the move ends
    claimed // .claims/<iccid> | moved // unused in the other directory
    v next flushes, then prints
    used // __<iccid>.json | For ever. With --device, the same device gets it again`,
  ),
  failure: diagramOf(
    'What to do when a device fails',
    `
    Device … failed
    v
    Does it say: Do not ship it? --yes--> Program it again. If that does not help, ship neither this device nor
      the one that has its ICCID
    v no
    Is it the first time? --yes--> Scan it again: it gets the same profile
    v no
    Do other devices fail here, too? --yes--> Stop. Check cable, power and program. No answer: check PASS and FAIL
    v no
    Is its board replaced? --yes--> The new board is a new device, with a new serial number
    v no
    Put it aside with its label | Scrapped: write it down, and have its ICCID deactivated`,
  ),
}
