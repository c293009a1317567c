/** Draws a diagram of two columns from text: boxes below each other, arrows between them, and what stands beside them. */
import { escaped, svg } from '../svg.ts'

export interface Row {
  /** A box. A question mark at its end makes it a question. */
  readonly left: string
  /** A second box, if an arrow leads to it, or else a note. */
  readonly right?: string
  /** What stands at the arrow from left to right. */
  readonly across?: string
  /** What stands at the arrow to the next row. */
  readonly down?: string
  readonly downRight?: string
}

export interface Diagram {
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

export const DIAGRAMS: Readonly<Record<string, Diagram>> = {
  flow: {
    title: 'From the service to the device, and where keys, receipts and backups live',
    rows: [
      {
        left: 'Profile service',
        right: 'Has your public key: only your private key opens the profiles',
        down: 'softsim fetch, over the internet',
      },
      {
        left: 'PC with internet\ndirectory of profiles',
        right: 'The API key lives here, and nowhere else',
        down: 'softsim move: never copy',
      },
      {
        left: 'Stick or share\ndirectory of profiles',
        right: 'All profiles are still encrypted. No key belongs here',
        down: 'softsim move, or stations share it',
      },
      {
        left: 'Station\ndirectory of profiles',
        right:
          'The private key lives here, with a backup in a safe. Receipts and results are written here. After each shift, keep them and a backup of the directory on another disk',
        down: 'softsim next, without internet',
      },
      { left: 'Device', right: 'One device, one profile' },
    ],
  },
  states: {
    title: 'The states of a profile',
    rows: [
      { left: 'at the service', right: 'Paid for when it is allocated', down: 'fetch' },
      {
        left: 'unused\n<iccid>.json',
        across: 'move',
        right: 'in transit',
        down: 'next begins',
        downRight: 'the move ends',
      },
      {
        left: 'claimed\n.claims/<iccid>',
        right: 'moved\nunused in the other directory',
        down: 'next flushes, then prints',
      },
      { left: 'used\n__<iccid>.json', right: 'For ever. With --device, the same device gets it again' },
    ],
  },
  failure: {
    title: 'What to do when a device fails',
    rows: [
      { left: 'Device … failed', down: '' },
      {
        left: 'Does it say: Do not ship it?',
        across: 'yes',
        right:
          'Program it again. If that does not help, ship neither this device nor the one that has its ICCID',
        down: 'no',
      },
      {
        left: 'Is it the first time?',
        across: 'yes',
        right: 'Scan it again: it gets the same profile',
        down: 'no',
      },
      {
        left: 'Do other devices fail here, too?',
        across: 'yes',
        right: 'Stop. Check cable, power and program. No answer: check PASS and FAIL',
        down: 'no',
      },
      {
        left: 'Is its board replaced?',
        across: 'yes',
        right: 'The new board is a new device, with a new serial number',
        down: 'no',
      },
      {
        left: 'Put it aside with its label',
        right: 'Scrapped: write it down, and have its ICCID deactivated',
      },
    ],
  },
}
