/** The stations' script for Linux at a terminal of its own, with a device programmer or a device on a serial port. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { inject, onTestFinished } from 'vitest'
import { directoryOf, someProfiles, temporaryDirectory } from './directory.ts'
import { program, softsim, until } from './softsim.ts'
import { hasProgram, writesOf } from './system.ts'

export const canRun = process.platform === 'linux' && hasProgram('script')

export const CTRL_D = '\u0004'

export const isRunning = (pid: number) => existsSync(`/proc/${pid}/stat`)

const SCRIPT = resolve('scripts/stations/softsim-station')
const PROMPT = /Serial number of [^\n]*: $/
const PRESSED_AGAIN_MS = 5000

/** Runs a shell command at a new pseudo-terminal (script(1)); `type` is its keyboard, `shown` its screen. */
function startTerminal(command: string, env: NodeJS.ProcessEnv) {
  const child = spawn('script', ['-qec', command, '/dev/null'], { env })
  const ended = once(child, 'close').then(([code]) => code as number)
  onTestFinished(() => void child.kill('SIGKILL'))
  // It may have ended before it reads what is typed.
  child.stdin.on('error', () => {})
  const terminal = {
    ended,
    shown: '',
    says,
    isGone,
    close: () => child.kill('SIGKILL'),
    type: (text: string) => child.stdin.write(text),
    /** Types, and waits until the terminal has it. */
    async put(text: string): Promise<void> {
      const before = writesOf(child.pid ?? 0)
      child.stdin.write(text)
      await until(() => writesOf(child.pid ?? 0) > before)
    },
  }
  child.stdout.setEncoding('utf8').on('data', (text) => {
    terminal.shown += text
  })
  return terminal

  function isGone() {
    return child.exitCode !== null || child.signalCode !== null
  }

  async function says(words: string): Promise<void> {
    await until(() => terminal.shown.includes(words) || isGone())
    if (!terminal.shown.includes(words)) throw new Error(`not said: ${words}\n${terminal.shown}`)
  }
}

/**
 * A station with its own PATH: softsim, and a device programmer that fails where there is a file `fail`, hangs where there
 * is a file `hang`, and prints the file `says`; with `-SN-1` behind these names, only for device SN-1. While there is a file
 * `hold`, `next` waits; Ctrl-C removes it.
 */
export function stationWith(profiles: number, place = temporaryDirectory()) {
  const directory = directoryOf(someProfiles(profiles))
  const key = inject('keys').privateKeyPath
  const path = (name: string) => join(place, name)
  const put = (name: string, text: string) => {
    writeFileSync(path(name), `#!/bin/sh\n${text}\n`)
    chmodSync(path(name), 0o755)
  }
  const hold = path('hold')
  const words = program().map((word) => `'${word}'`)
  put(
    'softsim',
    `if [ "$1 $2" != "next --dry-run" ] && [ "$1" = next ]; then trap "rm -f '${hold}'" INT; while [ -e '${hold}' ]; do touch '${path('held')}'; sleep 0.1; done; fi
exec ${words.join(' ')} "$@"`,
  )
  put(
    'program-device',
    // Until timeout(1) waits, a signal ends it alone: it may not know yet what it has started.
    `cd '${place}'; read -r line; [ ! -e fail ] && [ ! -e "fail-$DEVICE" ] || exit 1
if [ -e hang ] || [ -e "hang-$DEVICE" ]; then
  until grep -q '^State:.S' /proc/$PPID/status; do :; done
  echo $$ >> hanging; sleep 600
fi
cat says "says-$DEVICE" 2> /dev/null
echo "$SLOT $DEVICE" >> slots; echo "$PPID" >> limits; echo "$line" >> programmed`,
  )
  const linesOf = (name: string) =>
    existsSync(path(name)) ? readFileSync(path(name), 'utf8').split('\n').filter(Boolean) : []
  return {
    directory,
    path,
    /** What a device gets, or has. */
    lineOf: async (device: string) =>
      (await softsim(['next', '-k', key, '-i', directory, '--device', device])).stdout.trimEnd(),
    put: (name: string, text = '') => writeFileSync(path(name), text),
    /** The processes of programmers that hang. */
    hanging: () => linesOf('hanging').map(Number),
    programmed: () => linesOf('programmed'),
    /** The processes that limit the time of the programmers which have ended well. */
    limits: () => linesOf('limits').map(Number),
    /** Slot and device of each that was programmed, sorted. */
    slots: () => linesOf('slots').sort(),
    linesOf,
    receipts: () => linesOf('receipt.jsonl').map((line) => JSON.parse(line)),
    /** Device and result of each line, without the header. */
    results: () =>
      linesOf('results.csv')
        .slice(1)
        .map((line) => line.split(',').slice(2).join(' ')),
    start(settings: Record<string, string>, ...ports: readonly string[]) {
      const files = { PROFILES: directory, RECEIPT: path('receipt.jsonl'), RESULTS: path('results.csv') }
      const env = { ...process.env, PATH: `${place}:${process.env['PATH']}`, KEY: key, ...files, ...settings }
      const terminal = startTerminal([SCRIPT, ...ports].join(' '), env)
      const asks = async () => {
        await until(() => PROMPT.test(terminal.shown) || terminal.isGone())
        terminal.shown = ''
      }
      return {
        terminal,
        ended: terminal.ended,
        says: terminal.says,
        type: terminal.type,
        asks,
        /** Waits for the prompt, and answers it. */
        async scan(text: string): Promise<void> {
          await asks()
          terminal.type(text)
        },
        /** Scans devices, each of which gets programmed. */
        async program(...serials: readonly string[]): Promise<void> {
          for (const serial of serials) {
            await this.scan(`${serial}\n`)
            await terminal.says(`Device ${serial} is programmed.`)
          }
        },
        /** As a person does, because bash can miss a Ctrl-C between its prompt and its read. @returns the exit code */
        async pressCtrlC(): Promise<number> {
          for (;;) {
            terminal.type('\u0003')
            const code = await Promise.race([terminal.ended, sleep(PRESSED_AGAIN_MS, undefined)])
            if (code !== undefined) return code
          }
        },
      }
    },
  }
}

/** A serial port: a pseudo-terminal with a device at its other end, which answers each profile with `answer`. */
export async function serialPort(answer: (profile: string) => string) {
  const terminal = startTerminal('stty raw -echo; tty; exec sleep 600', process.env)
  await until(() => terminal.shown.includes('\n'))
  const [port = ''] = terminal.shown.split('\n')
  const received: string[] = []
  terminal.shown = ''
  const timer = setInterval(() => {
    const [line, ...rest] = terminal.shown.split('\n')
    if (rest.length === 0) return
    terminal.shown = rest.join('\n')
    received.push(line ?? '')
    terminal.type(answer(line ?? ''))
  }, 5)
  onTestFinished(() => clearInterval(timer))
  return { port: port.trim(), received, says: terminal.put }
}
