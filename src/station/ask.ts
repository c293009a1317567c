/** What a person types, a scanner sends, or a list on standard input has: line by line. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isatty, type ReadStream } from 'node:tty'
import { Failure } from '../failure.ts'

/** The shift ends: `exit`, the end of the list or of the terminal, Ctrl-C. */
export class EndOfShift extends Failure {}

/** Scanners may frame what they read with the first two. The second one is also Ctrl-C, the third Ctrl-D. */
const [STX, ETX, EOT] = ['\x02', '\x03', '\x04']

/** What a key such as that of an arrow sends. Any other ESC stays: a scanner may put it before what it reads. */
const KEYS = new RegExp(`${'\x1b'}\\[[0-9;]*[A-Z~]`, 'gi')

/** A scanner sends its next character sooner. */
const QUIET_MS = 100

/**
 * Standard input. A terminal gives each key by itself (raw mode): what is typed while nobody asks is not shown, and is no
 * answer by accident; Ctrl-C ends the shift, and not the program that writes to a device.
 */
export class Keyboard {
  readonly isTerminal = isatty(0)
  readonly #stdin = process.stdin as ReadStream
  readonly #show: (text: string) => void
  readonly #stop: AbortController
  hasEnded = false
  /** Lines that nobody has asked for yet. */
  #lines: string[] = []
  /** The line that has no end yet. */
  #typed = ''
  #last = ''
  #lastAt = 0
  #asked: { readonly isSecret: boolean; readonly answer: (line: string | undefined) => void } | undefined

  /** @param stop is aborted by Ctrl-C; when it is aborted, questions have no answer */
  constructor(show: (text: string) => void, stop: AbortController) {
    this.#show = show
    this.#stop = stop
    stop.signal.addEventListener('abort', () => this.#end())
  }

  /** Asks for a line. @param isSecret for a passphrase, which is not shown @throws {EndOfShift} */
  async ask(question: string, isSecret = false): Promise<string> {
    this.#begin()
    this.#show(question)
    let line = this.#stop.signal.aborted ? undefined : this.#lines.shift()
    if (line !== undefined) this.#show(isSecret ? '' : line)
    else if (!this.hasEnded) {
      if (!isSecret) this.#show(this.#typed)
      line = await new Promise<string | undefined>((answer) => {
        this.#asked = { isSecret, answer }
      })
      if (!this.isTerminal) this.#show(line ?? '')
    }
    this.#show('\n')
    if (line === undefined || (!isSecret && line.trim().toLowerCase() === 'exit'))
      throw new EndOfShift('interrupted', 'interrupted', 'nothing was claimed')
    return isSecret ? line : line.trim()
  }

  /** Takes away what was typed at a terminal before it was asked for. */
  async takeEarly(): Promise<string[]> {
    if (!this.isTerminal) return []
    this.#begin()
    do await sleep(QUIET_MS)
    while (performance.now() - this.#lastAt < QUIET_MS && !this.#stop.signal.aborted)
    const lines = [...this.#lines, this.#typed].map((line) => line.trim())
    this.#lines = []
    this.#typed = ''
    return lines.filter((line) => line !== '')
  }

  /** Gives the terminal back as it was. */
  close(): void {
    if (this.isTerminal) this.#stdin.setRawMode(false)
    this.#stdin.destroy()
  }

  /** Not before the first question: the program that writes the key to a pipe may ask for its own passphrase. */
  #begin(): void {
    if (this.#stdin.listenerCount('data') > 0) return
    if (this.isTerminal) this.#stdin.setRawMode(true)
    this.#stdin.setEncoding('utf8').on('data', (text) => {
      this.#lastAt = performance.now()
      for (const each of this.isTerminal ? `${text}`.replace(KEYS, '') : `${text}`) this.#take(each)
    })
    this.#stdin.on('end', () => this.#end()).on('error', () => this.#end())
  }

  #take(character: string): void {
    const last = this.#last
    this.#last = character
    const isFrameEnd = character === ETX && this.#typed.startsWith(STX)
    if (character === '\n' || character === '\r' || isFrameEnd) {
      // CR LF is one end of a line, in a list CR CR LF, too, and so is what follows the end of a frame.
      const isRest = last === ETX || (last === '\r' && (character === '\n' || !this.isTerminal))
      if (this.#typed !== '' || !isRest) this.#endLine()
    } else if (!this.isTerminal) this.#typed += character
    else if (character === ETX) this.#stop.abort()
    else if (character === EOT && this.#typed === '') this.#end()
    else if ('\b\x7f'.includes(character)) {
      if (this.#typed !== '' && this.#asked?.isSecret === false) this.#show('\b \b')
      this.#typed = this.#typed.slice(0, -1)
    } else if (character === STX) this.#typed = STX
    else {
      // Also what can't be shown, such as a tab: a label without it would be another one.
      this.#typed += character
      if (this.#asked?.isSecret === false && character >= ' ') this.#show(character)
    }
  }

  /** A list may begin with a byte order mark. An empty line of it is a label that was not read: it has its slot. */
  #endLine(): void {
    const line = this.#typed.replace(/^\ufeff/, '').replace(STX, '')
    this.#typed = ''
    if (this.#asked === undefined) this.#lines.push(line)
    else this.#answer(line)
  }

  #end(): void {
    // The last line of a list may have no end.
    if (!this.isTerminal && this.#typed !== '') this.#endLine()
    this.hasEnded = true
    this.#answer(undefined)
  }

  #answer(line: string | undefined): void {
    const asked = this.#asked
    this.#asked = undefined
    asked?.answer(line)
  }
}
