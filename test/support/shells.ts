/** Asks real shells what they offer to complete a line. */
import { execFileSync, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDirectory } from './directory.ts'
import { until } from './softsim.ts'
import { hasProgram } from './system.ts'

export interface Shell {
  name: string
  isThere: boolean
  /** @returns the words that the shell offers at the end of the line, in a directory with the files given */
  offered: (completion: string, line: string, cwd: string) => Promise<string[]>
}

/** The program prints the words of the line that the shell has completed. */
const PRINT = `softsim() { printf '%s\\n' 'printed:' "$@" ':end'; }\nPS1='ready> '\n`
const INSERT_ALL = '\x1b*'

const bash = (completion: string, line: string, cwd: string) => {
  const rc = join(temporaryDirectory(), 'rc')
  writeFileSync(rc, `${completion}\n${PRINT}`)
  return typed(`bash --noprofile --rcfile ${rc} -i`, line, cwd)
}

const zsh = (completion: string, line: string, cwd: string) => {
  const home = temporaryDirectory()
  mkdirSync(join(home, 'functions'))
  writeFileSync(join(home, 'functions', '_softsim'), completion)
  const all = [
    'zle -C insert-all complete-word _generic',
    "zstyle ':completion:insert-all::::' completer _all_matches _complete",
    "zstyle ':completion:insert-all:*' insert true",
    `bindkey '\\e*' insert-all`,
  ]
  const start = `fpath=(${home}/functions $fpath)\nautoload -Uz compinit\ncompinit -u -D\nunsetopt zle_bracketed_paste\n`
  writeFileSync(join(home, '.zshrc'), `${start}${PRINT}${all.join('\n')}\n`)
  return typed(`env ZDOTDIR=${home} zsh -d -i`, line, cwd)
}

/** Types a line at a terminal, and lets the shell insert all that it offers there. */
async function typed(shell: string, line: string, cwd: string): Promise<string[]> {
  const env = { PATH: process.env['PATH'], TERM: 'dumb', HOME: cwd }
  const child = spawn('script', ['-qec', `stty cols 2000; exec ${shell}`, '/dev/null'], { cwd, env })
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    shown += text
  })
  const ended = once(child, 'close')
  await until(() => shown.includes('ready> ') || child.exitCode !== null)
  child.stdin.write(`${line}${INSERT_ALL}\r`)
  await until(() => /^:end/m.test(shown) || child.exitCode !== null)
  child.stdin.end('exit\r')
  await ended
  const words = shown.split(/\r?\n/)
  const before = line.trim().split(/ +/).length - (line.endsWith(' ') ? 0 : 1)
  const from = words.findLastIndex((word) => word.endsWith('printed:')) + before
  return words.slice(from, words.lastIndexOf(':end'))
}

const fish = async (completion: string, line: string, cwd: string) => {
  const script = `${completion}\ncomplete -C '${line}'`
  const env = { PATH: process.env['PATH'], HOME: temporaryDirectory() }
  const offered = execFileSync('fish', ['--no-config', '-c', script], { cwd, env, encoding: 'utf8' })
  return offered.split('\n').flatMap((each) => each.split('\t')[0] || [])
}

const powershell = (program: string) => async (completion: string, line: string, cwd: string) => {
  const ask = `(TabExpansion2 -inputScript '${line}' -cursorColumn ${line.length}).CompletionMatches.CompletionText`
  const script = Buffer.from(`${completion}\n${ask}`, 'utf16le').toString('base64')
  const options = ['-NoProfile', '-NonInteractive', '-EncodedCommand', script]
  const stdio: StdioOptions = ['ignore', 'pipe', 'inherit']
  const offered = execFileSync(program, options, { cwd, encoding: 'utf8', stdio })
  return offered.split(/\r?\n/).filter((each) => each !== '')
}

const hasTerminal = process.platform === 'linux' && hasProgram('script')

export const bashShell: Shell = { name: 'bash', isThere: hasTerminal && hasProgram('bash'), offered: bash }
export const zshShell: Shell = { name: 'zsh', isThere: hasTerminal && hasProgram('zsh'), offered: zsh }
export const fishShell: Shell = { name: 'fish', isThere: hasProgram('fish'), offered: fish }
export const powershells: Shell[] = ['pwsh', 'powershell'].map((name) => ({
  name,
  isThere: hasProgram(name),
  offered: powershell(name),
}))
