/** Completion for PowerShell. */
import { type Command, globalOptions, topicsOf } from './table.ts'

export function powershellCompletion(commands: readonly Command[]): string {
  const names = commands.map(({ name }) => name)
  const flags = (options: Command['options']) => options.flatMap((option) => option.names)
  const words = commands.map(({ name, options, operands }) =>
    entry(name, operands.length > 0 ? topicsOf(commands) : flags(options)),
  )
  const values = commands.flatMap(({ name: command, options }) =>
    options
      .filter(({ value }) => value !== '')
      .flatMap((option) => {
        const offered = typeof option.values === 'string' ? [] : option.values
        return option.names.map((name) => entry(`${command} ${name}`, offered))
      }),
  )
  return `# Completion of softsim for PowerShell, made from its table of options.
Register-ArgumentCompleter -Native -CommandName softsim, softsim.exe -ScriptBlock {
    param($word, $line, $position)
    $words = @{
${[...words, entry('', [...names, ...flags(globalOptions)])].join('\n')}
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

const entry = (key: string, words: readonly string[]) =>
  `        '${key}' = @(${words.map((word) => `'${word}'`).join(', ')})`
