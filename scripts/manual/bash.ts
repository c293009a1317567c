/** Completion for bash 4 and later; older ones, such as that of macOS, also offer files where a directory is wanted. */
import { type Command, globalOptions, topicsOf, type Values } from './table.ts'

export function bashCompletion(commands: readonly Command[]): string {
  const names = commands.map(({ name }) => name)
  const flags = (options: Command['options']) => options.flatMap((option) => option.names).join(' ')
  const values = commands.flatMap(({ name: command, options }) =>
    options
      .filter(({ value }) => value !== '')
      .map((option) => {
        const pattern = option.names.map((name) => `${command}:${name}`).join(' | ')
        return `    ${pattern}) ${action(option.values)} ;;`
      }),
  )
  const words = commands.map(({ name, options, operands }) => {
    const offered = operands.length > 0 ? topicsOf(commands).join(' ') : flags(options)
    return `    ${name}:*) words='${offered}' ;;`
  })
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
    *) words='${names.join(' ')} ${flags(globalOptions)}' ;;
  esac
  compopt +o default 2> /dev/null
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _softsim softsim
`
}

/** Where a function offers nothing, bash goes on with its own completion: of files here, unless it is told otherwise. */
function action(values: Values): string {
  if (values === 'file') return 'return'
  if (values === 'directory') return 'compopt +o default -o dirnames 2> /dev/null; return'
  if (values === 'none') return 'compopt +o default 2> /dev/null; return'
  return `words='${values.join(' ')}'`
}
