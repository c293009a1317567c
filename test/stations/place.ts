/** A station at a pseudo-terminal (script(1)) of its own, with a program that writes to devices, or with devices at ports. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { inject } from 'vitest'
import { resultsOf } from '../../src/store/directory.ts'
import { directoryOf, someProfiles, temporaryDirectory } from '../support/directory.ts'
import { program, until } from '../support/softsim.ts'
import { hasProgram } from '../support/system.ts'

export const canRun = process.platform === 'linux' && hasProgram('script')

/**
 * It fails, hangs until it is asked to end, says something else, takes its time, or leaves something running for the
 * devices that files name: `fail-SN-1`, `hang-`, `says-`, `slow-`, `late-`. Why it fails is a line without an end.
 */
const PROGRAM = `#!/bin/sh
cd "$(dirname "$0")"; read -r line
echo "$SOFTSIM_SLOT $SOFTSIM_DEVICE $SOFTSIM_ICCID $line" >> programmed
echo "$SOFTSIM_KEY_PASSPHRASE$SOFTSIM_API_KEY" >> secrets
if [ -e "hang-$SOFTSIM_DEVICE" ]; then echo $$ >> hanging; echo hanging; trap 'echo asked >> asked; exit 0' TERM; sleep 600 & wait; fi
if [ -e "late-$SOFTSIM_DEVICE" ]; then (sleep 1; echo LATE) & fi
if [ -e "slow-$SOFTSIM_DEVICE" ]; then sleep 2; fi
cat "says-$SOFTSIM_DEVICE" 2> /dev/null
if [ -e "removes-$SOFTSIM_DEVICE" ]; then rm -r profiles; fi
if [ -e "fail-$SOFTSIM_DEVICE" ]; then printf 'no answer of the debugger' >&2; exit 3; fi
`

const running = new Set<ChildProcess>()

/** Ends what tests have left. */
export function endAll(): void {
  for (const child of running) child.kill('SIGKILL')
}

const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`

/** A command at a new pseudo-terminal: `type` is its keyboard, `shown` its screen. */
export function startTerminal(words: readonly string[], cwd: string, env: NodeJS.ProcessEnv) {
  const child = spawn('script', ['-qec', words.map(quoted).join(' '), '/dev/null'], { cwd, env })
  const ended = once(child, 'close').then(([code]) => code as number)
  running.add(child)
  child.once('close', () => running.delete(child))
  // It may have ended before it reads what is typed.
  child.stdin.on('error', () => {})
  const isGone = () => child.exitCode !== null || child.signalCode !== null
  const terminal = {
    shown: '',
    ended,
    isGone,
    type: (text: string) => void child.stdin.write(text),
    close: () => void child.kill('SIGKILL'),
    async says(words: string): Promise<void> {
      await until(() => terminal.shown.includes(words) || isGone())
      if (!terminal.shown.includes(words)) throw new Error(`not said: ${words}\n${terminal.shown}`)
    },
    /** Waits for the next question. */
    async asks(): Promise<boolean> {
      await until(() => /: $/.test(terminal.shown.slice(answered)) || isGone())
      answered = terminal.shown.length
      return !isGone()
    },
    async answer(...texts: readonly string[]): Promise<void> {
      for (const text of texts) {
        await terminal.asks()
        terminal.type(`${text}\r`)
      }
    },
  }
  let answered = 0
  child.stdout.setEncoding('utf8').on('data', (text) => {
    terminal.shown += text
  })
  return terminal
}

export type Terminal = ReturnType<typeof startTerminal>

const linesOf = (path: string) =>
  fs.existsSync(path) ? fs.readFileSync(path, 'utf8').split('\n').filter(Boolean) : []

/** A directory with `profiles`, the key and the program; the station is started in it. */
export function makePlace(stock = 5, digits: 19 | 20 = 20) {
  const all = someProfiles(stock, digits)
  const place = dirname(directoryOf(all))
  const path = (name: string) => join(place, name)
  fs.copyFileSync(inject('keys').privateKeyPath, path('softsim.pem'))
  fs.writeFileSync(path('program-device'), PROGRAM, { mode: 0o755 })
  const env = { PATH: process.env['PATH'], TERM: 'xterm', TZ: 'UTC' }
  const receipts = () => linesOf(path('receipt.jsonl')).map((line) => JSON.parse(line))
  return {
    path,
    put: (name: string, text = '') => fs.writeFileSync(path(name), text),
    lines: (name: string) => linesOf(path(name)),
    words: (options: readonly string[]) => [...program(), 'station', ...options],
    start(options: readonly string[], variables: Readonly<Record<string, string>> = {}): Terminal {
      return startTerminal([...program(), 'station', ...options], place, { ...env, ...variables })
    },
    /** The same with a list as standard input. */
    runList(options: readonly string[], list: string, variables = {}) {
      const [file = '', ...words] = [...program(), 'station', ...options]
      return this.run(file, words, list, variables)
    },
    async run(file: string, words: readonly string[], list: string, variables = {}) {
      const child = spawn(file, words, { cwd: place, env: { ...env, ...variables } })
      let shown = ''
      child.stderr.setEncoding('utf8').on('data', (text) => {
        shown += text
      })
      child.stdin.on('error', () => {}).end(list)
      const [code] = await once(child, 'close')
      return { code, shown }
    },
    receipts,
    /** Which device got which profile, counted from 1: `SN-1 1, SN-2 2`. */
    given: () =>
      receipts()
        .filter(({ result }) => result === undefined)
        .map(({ device, iccid }) => `${device} ${all.findIndex((each) => each.iccid === iccid) + 1}`)
        .join(', '),
    /** Device and result of each attempt: the receipts have the same as the directory. */
    results(): string {
      const seen = receipts().filter(({ result }) => result !== undefined)
      for (const device of new Set(seen.map((each) => each.device))) {
        const own = seen.filter((each) => each.device === device)
        const stored = fs.existsSync(path('profiles')) ? resultsOf(path('profiles'), device) : []
        const expected = own.map(({ result, station, time, note }) => ({ result, station, time, note }))
        if (stored.length > 0 && JSON.stringify(stored) !== JSON.stringify(expected))
          throw new Error(`${JSON.stringify(stored)} is not ${JSON.stringify(expected)}`)
      }
      return seen.map(({ device, result }) => `${device} ${result}`).join(', ')
    },
  }
}

export type Place = ReturnType<typeof makePlace>

/** A serial port: a pseudo-terminal with a device at its other end, which answers each profile. */
export async function serialPort(answer: (profile: string) => string) {
  const terminal = startTerminal(
    ['sh', '-c', 'stty raw -echo; tty; exec sleep 600'],
    temporaryDirectory(),
    process.env,
  )
  await until(() => terminal.shown.includes('\n'))
  const port = terminal.shown.split('\n')[0]?.trim() ?? ''
  const received: string[] = []
  terminal.shown = ''
  const timer = setInterval(() => {
    const [line, ...rest] = terminal.shown.split('\n')
    if (rest.length === 0) return
    terminal.shown = rest.join('\n')
    received.push(line ?? '')
    terminal.type(answer(line ?? ''))
  }, 5)
  terminal.ended.then(() => clearInterval(timer))
  return { port, received, type: terminal.type, close: terminal.close }
}
