import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { manPage } from '../../scripts/manual/man.ts'
import { ENVIRONMENT } from '../../scripts/manual/notes.ts'
import { commands } from '../../scripts/manual/table.ts'
import { EXIT_CODES } from '../../src/failure.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { hasPosix, hasProgram } from '../support/system.ts'

const page = manPage(commands, '1.2.3', new Date('2026-11-21'), '/usr/share/doc/softsim')

/** mandoc has no --version. */
const hasMandoc = hasPosix && spawnSync('mandoc', ['-Tlint', '/dev/null']).error === undefined

function mandoc(...options: string[]): string {
  const file = join(temporaryDirectory(), 'softsim.1')
  writeFileSync(file, page)
  // In bold and underlined text, each character is printed twice, with a backspace in between.
  const { stdout } = spawnSync('mandoc', [...options, file], { encoding: 'utf8' })
  return stdout.replace(/.[\b]/g, '')
}

test.skipIf(!hasMandoc)('mandoc complains only that the page is not of its own system', () => {
  const complaints = mandoc('-Tlint').trim().split('\n')
  const actual = complaints.filter((line) => !line.includes('STYLE: operating system explicitly specified'))
  expect(actual).toEqual([])
})

test.skipIf(!hasMandoc)('at 80 columns, the page has every option, exit code and example, as typed', () => {
  const text = mandoc('-Tutf8', '-Owidth=80')
  const plain = text.replace(/\s+/g, ' ')
  for (const { name, options, examples } of commands) {
    expect(plain).toContain(` softsim ${name} [`)
    for (const option of options) for (const each of option.names) expect(plain).toContain(` ${each}`)
    for (const option of options) expect(plain).toContain(option.words)
    for (const [label, command] of examples) expect(plain).toContain(`${label}: $ ${command} `)
  }
  for (const [code, meaning] of Object.values(EXIT_CODES)) expect(plain).toContain(` ${code} ${meaning} `)
  for (const line of text.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80)
})

test.skipIf(!hasPosix || !hasProgram('groff'))('at any width, no name is broken with a hyphen', () => {
  const namesAt = (width: number) => {
    const options = ['-mdoc', '-Tutf8', '-P-cbou', `-rLL=${width}n`]
    const { stdout } = spawnSync('groff', options, { input: page, encoding: 'utf8' })
    const words = stdout.trim().split('\n').slice(1, -1).join(' ').split(/\s+/)
    return words.filter((word) => /[A-Z]{2}|[_/<]|-\w|softsim|profiles\)/.test(word))
  }
  const names = namesAt(1000)
  expect(names.length).toBeGreaterThan(50)
  for (const width of [50, 55, 60, 72, 80, 100]) expect(namesAt(width)).toEqual(names)
})

test('it has the version, where the pages are, and where to report a bug', () => {
  expect(page).toContain('\n.Os softsim 1.2.3\n')
  expect(page).toContain('/usr/share/doc/softsim')
  expect(page).toMatch(/\n\.Sh BUGS\nReport a bug on the page that you downloaded \\%softsim from\./)
})

test('no shell would see a typographic hyphen: each one is escaped', () => {
  const lines = page.split('\n').filter((line) => !/^\.(Bl|Bd) /.test(line))
  expect(lines.filter((line) => /(?<!\\)-/.test(line))).toEqual([])
})

test('the page names every environment variable that the program reads', () => {
  const files = readdirSync('src', { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
  const sources = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'))
  const read = sources.join('').matchAll(/\benv\['(\w+)'\]|'(SOFTSIM_\w+)'/g)
  const named = ENVIRONMENT.flatMap(([name]) => name.split(' , '))
  expect(named).toEqual(expect.arrayContaining([...read].map(([, name, another]) => name ?? another)))
})
