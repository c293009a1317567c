/** A session at a terminal as SVG that is readable on light and on dark pages. All of it is pure. */
import type { Step } from './session.ts'

/** In characters, as wide as most terminals. */
const COLUMNS = 80
/** In pixels. */
const [CHARACTER, LINE, MARGIN] = [8.4, 20, 18]

const STYLE = `
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace }
.page { fill: #f6f8fa } .typed { fill: #0969da; font-weight: 600 } .printed { fill: #1f2328 }
.told { fill: #57606a } .warned { fill: #9a6700 }
@media (prefers-color-scheme: dark) {
.page { fill: #161b22 } .typed { fill: #58a6ff } .printed { fill: #f0f6fc }
.told { fill: #9198a1 } .warned { fill: #d29922 }
}`

const DESCRIPTION =
  'softsim fetch downloads 50 profiles. softsim next prints the profile of a device as one line of hex. Called again for the same device, it prints the same line with a warning. softsim status counts the profiles.'

export function draw(steps: readonly Step[]): string {
  const lines = steps.flatMap(({ command, output }, at) => [
    ...(at === 0 ? [] : [{ kind: 'typed', text: '' }]),
    ...wrapped('typed', `$ ${command}`),
    ...withoutTimes(output)
      .trimEnd()
      .split('\n')
      .flatMap((line) => wrapped(kindOf(line), line)),
  ])
  const [width, height] = [2 * MARGIN + COLUMNS * CHARACTER, 2 * MARGIN + lines.length * LINE]
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    '<title>A session with softsim</title>',
    `<desc>${DESCRIPTION}</desc>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="page" width="${width}" height="${height}" rx="6"/>`,
    ...lines.flatMap(({ kind, text }, at) =>
      text === '' ? [] : [textAt(MARGIN + at * LINE + LINE / 2, kind, text)],
    ),
    '</svg>\n',
  ].join('\n')
}

/** `(1 request, 0.2 s)` becomes `(1 request)`: a picture must not differ from run to run. */
const withoutTimes = (output: string) => output.replace(/, [\d.]+ s\)/g, ')')

function kindOf(line: string): string {
  if (line.startsWith('softsim: warning:')) return 'warned'
  return line.startsWith('softsim: ') ? 'told' : 'printed'
}

const wrapped = (kind: string, line: string) =>
  (line.match(new RegExp(`.{1,${COLUMNS}}`, 'g')) ?? ['']).map((text) => ({ kind, text }))

/** Fonts differ in width. The length of the text keeps each character in its column. SVG joins ordinary spaces. */
function textAt(y: number, kind: string, text: string): string {
  const shown = text
    .replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`)
    .replaceAll(' ', '\u00a0')
  const length = Number((text.length * CHARACTER).toFixed(1))
  return `<text class="${kind}" x="${MARGIN}" y="${y}" dominant-baseline="central" textLength="${length}">${shown}</text>`
}
