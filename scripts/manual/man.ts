/** The man page, in mdoc(7), which both mandoc and groff read. */

import { wrap } from '../../src/cli/help.ts'
import { EXIT_CODES } from '../../src/failure.ts'
import { BUGS, ENVIRONMENT, FILES, manualIn, PURPOSE } from './notes.ts'
import { type Command, globalOptions, type Option, takesTopic } from './table.ts'

type Row = readonly [term: string, words: string]

/** `mandoc -Tlint` accepts lines of 80 bytes, and a backslash is put before each hyphen. */
const WIDTH = 70

/**
 * @param version that of the program, which the page shows at its bottom
 * @param date that of the last change
 * @param place where the pages of the manual are
 */
export function manPage(commands: readonly Command[], version: string, date: Date, place: string): string {
  return `${[
    `.Dd ${date.toLocaleDateString('en-US', { dateStyle: 'long', timeZone: 'UTC' })}`,
    '.Dt SOFTSIM 1',
    `.Os softsim ${version}`,
    '.Sh NAME',
    '.Nm softsim',
    '.Nd fetch SoftSIM profiles and hand them out, one per device',
    '.Sh SYNOPSIS',
    ...commands.flatMap((each) => [
      '.Nm',
      `.Cm ${each.name}`,
      `.Op Ar ${takesTopic(each) ? 'topic' : 'options'}`,
    ]),
    '.Sh DESCRIPTION',
    ...text(PURPOSE),
    ...commands.flatMap(command),
    '.Ss Options of all commands',
    'They can stand before or after the command.',
    ...list(globalOptions.map(optionRow)),
    '.Sh ENVIRONMENT',
    ...list(ENVIRONMENT.map(([name, words]) => [`Ev ${name}`, words])),
    '.Sh FILES',
    'A directory of profiles contains:',
    ...list(FILES.map(([name, words]) => [`Pa ${roff(name)}`, words])),
    '.Sh EXIT STATUS',
    ...list(Object.values(EXIT_CODES).map(([code, words]) => [String(code), words])),
    '.Sh EXAMPLES',
    ...commands.flatMap(({ examples }) => examples).flatMap(example),
    '.Sh SEE ALSO',
    ...text(manualIn(place)),
    '.Sh BUGS',
    ...text(BUGS),
  ].join('\n')}\n`
}

function command({ name, description, details, options }: Command): string[] {
  const paragraphs = [
    `${description[0]?.toUpperCase()}${description.slice(1)}.`,
    ...(details?.split('\n\n') ?? []),
  ]
  const own = options.filter(({ names }) => !globalOptions.some((option) => option.names[0] === names[0]))
  return [
    `.Ss ${name}`,
    ...paragraphs.flatMap((words) => ['.Pp', ...text(words)]).slice(1),
    ...list(own.map(optionRow)),
  ]
}

function optionRow({ names, value, words }: Option): Row {
  const flags = names.map((name) => `Fl ${roff(name.slice(1))}`).join(' , ')
  return [value === '' ? flags : `${flags} Ar ${value.slice(1, -1)}`, words]
}

function list(rows: readonly Row[]): string[] {
  if (rows.length === 0) return []
  return ['.Bl -tag -width Ds', ...rows.flatMap(([term, words]) => [`.It ${term}`, ...text(words)]), '.El']
}

function example([label, line]: Row, index: number): string[] {
  const literal = ['.Bd -literal -offset 2n', roff(`$ ${line}`), '.Ed']
  return [...(index > 0 ? ['.Pp'] : []), ...text(`${label}:`), ...literal]
}

/** Each sentence begins on a line of its own. */
function text(words: string): string[] {
  return words
    .split(/(?<=[.:?!]) (?=[A-Z])/)
    .flatMap((sentence) => wrap(sentence, WIDTH).map((line) => whole(roff(line))))
}

/** A plain hyphen would become a typographic one, which no shell understands. */
const roff = (words: string) => words.replaceAll('\\', '\\e').replaceAll('-', '\\-').replace(/^[.']/, '\\&$&')

/** What is typed or searched for: variables, options, files, addresses and abbreviations. */
const NAME = /(?<=^|\s)(?=\S*(?:[A-Z]{2}|[_/<]|-\w|softsim|profiles\)))/g

/** A name that is broken at the end of a line with a hyphen could not be copied. */
const whole = (line: string) => line.replaceAll(NAME, '\\%')
