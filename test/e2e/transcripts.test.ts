/**
 * Runs the transcripts of `transcripts/`: what somebody types, and what the program says.
 *
 * `=== title [needs]` begins a test. It has a directory of its own, with key.pem, public.pem and another.pem, the key of
 * somebody else.
 * `$ command` is run by bash, with `> ` before its further lines. Below it is what it prints, standard error behind `2> `;
 * `# exit 3` is at its end if it fails. Commands before the first test come before each command.
 * `+ words` prepare something: see test/support/prepare.ts.
 *
 * What varies has a name: ICCID7, <profile 7>, $PWD, TIME, HOST, TAG, ID, ADDRESS, SECONDS; columns are two spaces
 * apart, and blank lines do not count. `…` stands for anything in a line, and alone for any lines; `\r` is a carriage
 * return. Lines that differ in one number, which counts up, are one: `<profile 7-9>`. A hint that another step shows, word
 * for word, may be left out.
 *
 * UPDATE=1 writes down what is printed now. Then read it.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { temporaryDirectory } from '../support/directory.ts'
import { hasSmallDisks } from '../support/disk.ts'
import { type Place, prepare } from '../support/prepare.ts'
import { dataOf, iccid, plainProfile } from '../support/profiles.ts'
import { expectPromisesKept, lines } from '../support/promises.ts'
import { PROGRESS, program } from '../support/softsim.ts'
import * as system from '../support/system.ts'
import { whyNoTrace } from '../support/trace.ts'

const FOLDER = new URL('transcripts/', import.meta.url)

const NEEDS: Record<string, boolean> = {
  posix: system.hasPosix,
  root: spawnSync('setpriv', ['--reuid', '53001', '--clear-groups', ...program(), '-V']).status === 0,
  linux: process.platform === 'linux',
  links: system.hasSymlinks,
  modes: system.modesCount,
  full: system.hasFullDevice,
  terminal: process.platform === 'linux' && system.hasProgram('script'),
  birth: system.tellsBirth,
  trace: whyNoTrace() === undefined,
  disk: hasSmallDisks,
  mount: spawnSync('unshare', ['--mount', 'mount', '--bind', '/dev/zero', '/dev/null']).status === 0,
  bundle: system.isRunByNode,
  executable: !system.isRunByNode,
}

interface Step {
  /** The last line of the command in the file, counted from 0. */
  at: number
  kind: '$' | '+'
  command: string
  code: number
  expected: string[]
}

/** What is written in all of them: the hints that a step may leave out. */
const WRITTEN = new Set(
  readdirSync(FOLDER).flatMap((name) => readFileSync(new URL(name, FOLDER), 'utf8').split('\n')),
)

const IN_POWERSHELL = '2> softsim: hint: in PowerShell: '

/** On a busy machine, any reader of a pipe may take two seconds. e2e/slow-reader.test.ts has one that always does. */
const SLOW_READER = '2> softsim: warning: the reader of standard output is slow or does not read: '

const IN_PASSING = [IN_POWERSHELL, SLOW_READER]

/** Whether a line of standard error may be left out of what a step expects. */
const isShownElsewhere = (line: string, expected: readonly string[]) =>
  line.startsWith('2> softsim: hint: ') && WRITTEN.has(line) && !expected.includes(line)

/** What bash reads first; "${SOFTSIM[@]}" is for programs that run it. */
const SOFTSIM = `set -o pipefail
SOFTSIM=(${program()
  .map((word) => `'${word.replaceAll('\\', '/')}'`)
  .join(' ')})
softsim() { "\${SOFTSIM[@]}" "$@"; }
`

/** Git brings it to Windows. */
const BASH = system.isWindows ? join(process.env['ProgramFiles'] ?? '', 'Git/bin/bash.exe') : 'bash'

async function run(step: Step, place: Place): Promise<string[]> {
  const command = step.command.replace(/ICCID(\d+)/g, (_, n) => iccid(Number(n)))
  if (step.kind === '+') return lines(await prepare(place, command))
  const { cwd, env } = place
  const words = ['-c', SOFTSIM + place.before + command]
  const child = spawn(BASH, words, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const texts = [text(child.stdout), text(child.stderr)] as const
  const [stdout, stderr, [code, signal]] = await Promise.all([...texts, once(child, 'close')])
  const [, call] = /(?:^|[ ;&|(])softsim (.*)/.exec(command) ?? []
  // Of several commands, nobody knows whose the exit code is.
  const isOne = !/[|;&]/.test(command.replace(/'.*?'/g, ''))
  if (call) expectPromisesKept(call.split(' '), { code: isOne ? code : 0, signal, stdout, stderr })
  step.code = code
  const said = lines(named(stderr.replaceAll(PROGRESS, ''), cwd))
    .map((line) => `2> ${line}`)
    .filter(
      (line) => !IN_PASSING.some((words) => line.startsWith(words)) && !isShownElsewhere(line, step.expected),
    )
  return inARow([...lines(named(stdout, cwd)).filter(Boolean), ...said])
}

/** Gives what varies its name. */
function named(printed: string, cwd: string): string {
  return (system.isWindows ? printed.replace(/\r|(?<=\\)\\/g, '').replaceAll('\\', '/') : printed)
    .replaceAll(cwd, '$PWD')
    .replace(/^[0-9a-f]{200,}$/gm, profileNamed)
    .replace(/(?<!\d)8988\d{16}(?!\d)/g, (digits) => {
      const n = Number(digits.slice(4, -1))
      return iccid(n) === digits ? `ICCID${n}` : digits
    })
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) =>
      Math.abs(Date.now() - Date.parse(time)) < 600_000 ? 'TIME' : time,
    )
    .replace(/(?<="claim":")[\da-f]{20}(?=")/g, 'TAG')
    .replace(/(?<=\.incoming\/)[\da-f.]{20,}/g, 'ID')
    .replace(/(?<="from":")[\da-f]{20}(?=")/g, 'ID')
    .replace(/(127\.0\.0\.1|localhost):\d{4,5}/g, 'ADDRESS')
    .replace(/\b[\d.]+ s\)/g, 'SECONDS)')
    .replace(RegExp(`(?<![\\w.-])${hostname()}(?![\\w.-])`, 'g'), 'HOST')
    .replaceAll('\r', '\\r')
    .replace(/ {2,}/g, '  ')
}

function profileNamed(hex: string): string {
  const digits = dataOf(hex, '02')?.replace(/(.)(.)/g, '$2$1') ?? ''
  const n = Number(digits.slice(4, 19))
  return dataOf(hex, '04') === plainProfile(n).k.toLowerCase() ? `<profile ${n}>` : `<a profile of ${digits}>`
}

/** Lines that differ in one number, which counts up, are one line. */
function inARow(printed: readonly string[]): string[] {
  const all: string[] = []
  /** The words and the numbers of the line before, which of these counts, and from where. */
  let last = { words: [''], at: 0, from: '' }
  for (const line of printed) {
    const { words } = last
    const now = line.split(/(\d+)/)
    const at = now.findIndex((word, n) => word !== words[n])
    const next = words.map((word, n) => (n === at ? `${Number(word) + 1}` : word)).join('')
    const isNext = at % 2 === 1 && (last.at === 0 || last.at === at) && line === next
    const from = last.at === 0 ? (words[at] ?? '') : last.from
    if (isNext) all[all.length - 1] = now.with(at, `${from}-${now[at]}`).join('')
    else all.push(line)
    last = isNext ? { words: now, at, from } : { words: now, at: 0, from: '' }
  }
  return all
}

/** Whether lines are those that are expected. */
function match(actual: readonly string[], expected: readonly string[]): boolean {
  const escaped = expected.map((line) =>
    line === '…' ? '(?:.*\\n)*' : `${line.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}\\n`,
  )
  const printed = actual.map((line) => `${line}\n`).join('')
  return RegExp(`^${escaped.join('').replaceAll('…', '.*')}$`).test(printed)
}

/** The steps of each test by its title. */
function parse(all: readonly string[]): Map<string, Step[]> {
  const tests = new Map<string, Step[]>([['', []]])
  for (const [at, line] of all.entries()) {
    const steps = [...tests.values()].at(-1) ?? []
    const last = steps.at(-1)
    const [, kind, typed = '', code = 0] = /^([$+>]) (.*?)(?: +# exit (\d+))?$/.exec(line) ?? []
    if (/^===/.test(line) && tests.has(line.slice(4))) throw new Error(`there twice: ${line}`)
    if (line.startsWith('=== ')) tests.set(line.slice(4), [])
    else if (kind === '>' && last)
      Object.assign(last, { at, command: `${last.command}\n${typed}`, code: Number(code) })
    else if (kind) steps.push({ at, kind: kind as '$', command: typed, code: Number(code), expected: [] })
    else if (line !== '' && !line.startsWith('# ')) last?.expected.push(line)
  }
  return tests
}

function newPlace(before: string, root: 'root' | 'disk'): Place {
  const cwd = temporaryDirectory(root)
  const { privateKeyPath, publicKey } = inject('keys')
  copyFileSync(privateKeyPath, join(cwd, 'key.pem'))
  copyFileSync(inject('otherKeys').privateKeyPath, join(cwd, 'another.pem'))
  writeFileSync(join(cwd, 'public.pem'), publicKey)
  const env = process.env['SystemRoot'] ? { SystemRoot: process.env['SystemRoot'] } : {}
  return { cwd, before, env: { ...env, PATH: process.env['PATH'] ?? '', LC_COLLATE: 'C' } }
}

const chosen = process.env['TRANSCRIPTS']?.split(',')

const isChosen = (name: string) => !chosen || chosen.includes(name.replace('.txt', ''))

for (const file of readdirSync(FOLDER).filter(isChosen)) {
  const path = new URL(file, FOLDER)
  const all = readFileSync(path, 'utf8').split('\n')
  const updated = [...all.entries()].map(([, line]): string[] => [line])

  describe(file, { concurrent: true }, () => {
    const [[, first] = ['', []], ...tests] = parse(all)
    const before = first.map(({ command }) => `${command}\n`).join('')
    for (const [title, steps] of tests) {
      const needs = /\[([\w ]+)\]$/.exec(title)?.[1]?.split(' ') ?? []
      test.skipIf(needs.some((need) => !NEEDS[need]))(title, async () => {
        // What is traced may be a flush.
        const place = newPlace(before, needs.includes('trace') ? 'disk' : 'root')
        try {
          for (const step of steps) await take(step, place)
        } finally {
          await place.disk?.close()
          for (const tunnel of place.tunnels ?? []) tunnel.close()
        }
      })
    }

    async function take(step: Step, place: Place): Promise<void> {
      const { at, command, expected, code } = step
      const actual = await run(step, place)
      const isRight = match(actual, expected)
      if (process.env['UPDATE']) {
        for (let n = 1; n <= expected.length; n++) updated[at + n] = []
        const exit = step.code === 0 ? '' : `  # exit ${step.code}`
        updated[at] = [`${all[at]?.replace(/ +# exit .*$/, '')}${exit}`, ...(isRight ? expected : actual)]
      } else if (step.code !== code || !isRight) {
        const [received, wanted] = [
          [`exit ${step.code}`, ...actual],
          [`exit ${code}`, ...expected],
        ].map((each) => each.join('\n'))
        expect(received, `${file}:${at + 1}: ${command}`).toBe(wanted)
      }
    }
  })

  afterAll(() => {
    if (process.env['UPDATE']) writeFileSync(path, updated.flat().join('\n'))
  })
}
