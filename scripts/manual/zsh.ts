/** Completion for zsh: the file goes to a directory of `$fpath`. */
import { type Command, globalOptions, type Option, topicsOf } from './table.ts'

export function zshCompletion(commands: readonly Command[]): string {
  const described = commands.map(({ name, description }) => quote(`${plain(name)}:${description}`)).join(' ')
  const cases = commands.map(({ name, options, operands }) => {
    const operand = operands.length > 0 ? [`'1:command:(${topicsOf(commands).join(' ')})'`] : []
    return `    ${name}) _arguments -s ${[...options.flatMap(specs), ...operand].join(' \\\n      ')} ;;`
  })
  return `#compdef softsim
# Completion of softsim for zsh, made from its table of options.
local curcontext=$curcontext state line
local -A opt_args
local -a commands=(${described})

_arguments -C -s ${globalOptions.flatMap(specs).join(' ')} '1:command:->command' '*::argument:->argument' && return
if [[ $state == command ]]; then
  _describe command commands
else
  case $words[1] in
${cases.join('\n')}
  esac
fi
`
}

/** One for each name; a value may follow in the same word or in the next. */
function specs({ names, value, words, values }: Option): string[] {
  return names.map((name) => {
    const spec = (joint: string, rest: string) => quote(`*${name}${joint}[${plain(words)}]${rest}`)
    if (value === '') return spec('', '')
    const optional = value.startsWith('[') ? '::' : ':'
    return spec(name.startsWith('--') ? '=' : '+', `${optional}${value.replace(/\W/g, '')}:${action(values)}`)
  })
}

function action(values: Option['values']): string {
  if (values === 'file') return '_files'
  if (values === 'directory') return '_files -/'
  return values === 'none' ? ' ' : `(${values.join(' ')})`
}

const plain = (text: string) => text.replace(/[[\]:\\]/g, '\\$&')

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
