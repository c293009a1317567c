/**
 * A session at a terminal as SVG that is readable on light and on dark pages. The program prints these lines without
 * colours, and so does the picture. All of it is pure.
 */
import type { Step } from './session.ts'

/** In characters, as wide as most terminals. */
const COLUMNS = 80
/** In pixels. */
const [CHARACTER, LINE, MARGIN] = [8.4, 20, 18]

const STYLE = `
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1f2328 }
.page { fill: #f6f8fa } .typed { font-weight: 600 }
@media (prefers-color-scheme: dark) {
.page { fill: #161b22 } text { fill: #f0f6fc }
}`

const DESCRIPTION =
  'softsim fetch downloads 50 profiles. softsim next prints the profile of a device as one line of hex. Called again for the same device, it prints the same line with a warning. softsim next -n 3 prints three profiles, one per line. softsim status lists which device has which profile.'

export function draw(steps: readonly Step[]): string {
  const lines = steps.flatMap(({ command, output }, at) => [
    ...(at === 0 ? [] : [{ kind: 'typed', text: '' }]),
    ...wrapped('typed', `$ ${command}`),
    ...(output === '' ? [] : alwaysTheSame(output.trimEnd())).flatMap((line) =>
      /^[0-9a-f]+$/.test(line) ? cut(line) : wrapped('printed', line),
    ),
  ])
  const [width, height] = [2 * MARGIN + COLUMNS * CHARACTER, 2 * MARGIN + lines.length * LINE]
  const parts = lines.flatMap(({ kind, text }, at) =>
    text === '' ? [] : [textAt(MARGIN + at * LINE + LINE / 2, kind, text)],
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    '<title>A session with softsim</title>',
    `<desc>${DESCRIPTION}</desc>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="page" width="${width}" height="${height}" rx="6"/>`,
    ...parts,
    '</svg>\n',
  ].join('\n')
}

const escaped = (words: string) => words.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`)

/** Replaces what differs from run to run: durations and times. */
const alwaysTheSame = (output: string) =>
  output
    .replace(/, [\d.]+ s\)/g, ')')
    .split('\n')
    .map((line, at) => line.replace(/\d{4}-[\d-]+T[\d:.]+Z/, `2026-11-21T18:08:2${at}.856Z`))

/** A profile on one line: its end does not matter here. */
const cut = (line: string) => [
  { kind: 'printed', text: line.length > COLUMNS ? `${line.slice(0, COLUMNS - 1)}…` : line },
]

const wrapped = (kind: string, line: string) =>
  (line.match(new RegExp(`.{1,${COLUMNS}}`, 'g')) ?? ['']).map((text) => ({ kind, text }))

/** Fonts differ in width. The length of the text keeps each character in its column. SVG joins ordinary spaces. */
function textAt(y: number, kind: string, text: string): string {
  const shown = escaped(text).replaceAll(' ', '\u00a0')
  const length = Number((text.length * CHARACTER).toFixed(1))
  return `<text class="${kind}" x="${MARGIN}" y="${y}" dominant-baseline="central" textLength="${length}">${shown}</text>`
}
