/** Completions for shells, made from the program's table of options. */
import {
  type Command,
  globalOptions,
  type Option,
  takesTopic,
  topicsOf,
  type Values,
  valuesOf,
} from './table.ts'

/** What a shell is told about the value of an option, in its own language. */
interface Words {
  readonly file: string
  readonly directory: string
  readonly none: string
  readonly oneOf: (words: string) => string
}

function wordsFor(option: Option, words: Words): string {
  const values: Values = valuesOf(option)
  return typeof values === 'string' ? words[values] : words.oneOf(values.join(' '))
}

const flagsOf = (options: Command['options']) => options.flatMap((option) => option.names)
const withValue = (options: Command['options']) => options.filter(({ value }) => value !== '')

/** What can stand behind a command: its options, or what `help` takes. */
const offeredAfter = (commands: readonly Command[], each: Command) =>
  takesTopic(each) ? topicsOf(commands) : flagsOf(each.options)

/** Where a function offers nothing, bash goes on with its own completion: of files here, unless it is told otherwise. */
const BASH: Words = {
  file: 'return',
  directory: 'compopt +o default -o dirnames 2> /dev/null; return',
  none: 'compopt +o default 2> /dev/null; return',
  oneOf: (words) => `words='${words}'`,
}

/** For bash 4 and later; older ones, such as that of macOS, also offer files where a directory is wanted. */
export function bashCompletion(commands: readonly Command[]): string {
  const names = commands.map(({ name }) => name)
  const values = commands.flatMap(({ name: command, options }) =>
    withValue(options).map((option) => {
      const pattern = option.names.map((name) => `${command}:${name}`).join(' | ')
      return `    ${pattern}) ${wordsFor(option, BASH)} ;;`
    }),
  )
  const words = commands.map(
    (each) => `    ${each.name}:*) words='${offeredAfter(commands, each).join(' ')}' ;;`,
  )
  return `# Completion of softsim for bash, made from its table of options.
_softsim() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} command= word words
  # bash splits --format=json at the equals sign.
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD - 2]}; fi
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
    case $word in ${names.join(' | ')}) command=$word; break ;; esac
  done
  case $command:$prev in
${[...values, ...words].join('\n')}
    *) words='${[...names, ...flagsOf(globalOptions)].join(' ')}' ;;
  esac
  compopt +o default 2> /dev/null
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _softsim softsim
`
}

const ZSH: Words = {
  file: '_files',
  directory: '_files -/',
  none: ' ',
  oneOf: (words) => `(${words})`,
}

const zshPlain = (text: string) => text.replace(/[[\]:\\]/g, '\\$&')
const zshQuote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

/** One for each name; a value may follow in the same word or in the next. */
const zshSpecs = (option: Option): string[] =>
  option.names.map((name) => {
    const words = `[${zshPlain(option.words)}]`
    if (option.value === '') return zshQuote(`*${name}${words}`)
    const joint = name.startsWith('--') ? '=' : '+'
    return zshQuote(`*${name}${joint}${words}:${option.value.slice(1, -1)}:${wordsFor(option, ZSH)}`)
  })

/** The file goes to a directory of `$fpath`. */
export function zshCompletion(commands: readonly Command[]): string {
  const described = commands.map(({ name, description }) => zshQuote(`${zshPlain(name)}:${description}`))
  const cases = commands.map((each) => {
    const topic = takesTopic(each) ? [`'1:command:(${topicsOf(commands).join(' ')})'`] : []
    return `    ${each.name}) _arguments -s ${[...each.options.flatMap(zshSpecs), ...topic].join(' \\\n      ')} ;;`
  })
  return `#compdef softsim
# Completion of softsim for zsh, made from its table of options.
local curcontext=$curcontext state line
local -A opt_args
local -a commands=(${described.join(' ')})

_arguments -C -s ${globalOptions.flatMap(zshSpecs).join(' ')} '1:command:->command' '*::argument:->argument' && return
if [[ $state == command ]]; then
  _describe command commands
else
  case $words[1] in
${cases.join('\n')}
  esac
fi
`
}

const fishQuote = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`

const FISH: Words = {
  file: '-r -F',
  directory: "-x -a '(__fish_complete_directories)'",
  none: '-x',
  oneOf: (words) => `-x -a ${fishQuote(words)}`,
}

function fishSpec(option: Option): string {
  const { names, value, words } = option
  const flags = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`))
  return [...flags, ...(value === '' ? [] : [wordsFor(option, FISH)]), `-d ${fishQuote(words)}`].join(' ')
}

export function fishCompletion(commands: readonly Command[]): string {
  const complete = (condition: string) => `complete -c softsim -n ${fishQuote(condition)}`
  const lines = commands.flatMap((each) => {
    const { name, description, options } = each
    const inside = complete(`__fish_seen_subcommand_from ${name}`)
    return [
      `${complete('__fish_use_subcommand')} -a ${name} -d ${fishQuote(description)}`,
      ...options.map((option) => `${inside} ${fishSpec(option)}`),
      ...(takesTopic(each) ? [`${inside} -a ${fishQuote(topicsOf(commands).join(' '))}`] : []),
    ]
  })
  const everywhere = globalOptions.map((option) => `${complete('__fish_use_subcommand')} ${fishSpec(option)}`)
  return `# Completion of softsim for fish, made from its table of options.
complete -c softsim -f
${[...lines, ...everywhere].join('\n')}
`
}

export function powershellCompletion(commands: readonly Command[]): string {
  const entry = (key: string, words: readonly string[]) =>
    `        '${key}' = @(${words.map((word) => `'${word}'`).join(', ')})`
  const names = commands.map(({ name }) => name)
  const words = commands.map((each) => entry(each.name, offeredAfter(commands, each)))
  const values = commands.flatMap(({ name: command, options }) =>
    withValue(options).flatMap((option) => {
      const values = valuesOf(option)
      const offered = typeof values === 'string' ? [] : values
      return option.names.map((name) => entry(`${command} ${name}`, offered))
    }),
  )
  return `# Completion of softsim for PowerShell, made from its table of options.
Register-ArgumentCompleter -Native -CommandName softsim, softsim.exe -ScriptBlock {
    param($word, $line, $position)
    $words = @{
${[...words, entry('', [...names, ...flagsOf(globalOptions)])].join('\n')}
    }
    # With nothing to offer, PowerShell offers files.
    $values = @{
${values.join('\n')}
    }
    $before = @($line.CommandElements | Where-Object { $_.Extent.EndOffset -lt $position } | ForEach-Object { "$_" })
    $command = "$($before | Select-Object -Skip 1 | Where-Object { $words.ContainsKey($_) } | Select-Object -First 1)"
    $option = $before[-1]
    $start = ''
    if ($word -match '^(--[a-z-]+)=') {
        $option = $Matches[1]
        $start = $Matches[0]
    }
    $offered = if ($values.ContainsKey("$command $option")) { $values["$command $option"] } else { $words[$command] }
    foreach ($each in $offered) {
        $text = "$start$each"
        if ($text.StartsWith($word, 'Ordinal')) {
            [System.Management.Automation.CompletionResult]::new($text, $text, 'ParameterValue', $text)
        }
    }
}
`
}
