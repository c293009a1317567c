/** What a device or its program says, and whether that is a pass. */
import { stripVTControlCharacters } from 'node:util'
import type { HandedOut } from '../next/next.ts'
import type { Settings } from './settings.ts'

export interface Verdict {
  readonly isPassed: boolean
  /** The reason, in short. */
  readonly note: string
  /** What has programmed the device still runs, and may write to the next one. */
  readonly isStuck?: boolean
}

/** How a device is listened to. */
export interface Limits {
  readonly timeoutMs: number
  readonly stop: AbortSignal
  readonly hear: (line: string) => void
}

export const LONGEST_LINE = 4096
const LONGEST_NOTE = 200

/** A shell on the device may print its prompt before the answer: `uart:~$ OK`. Lines may begin like that, too: `$OK`. */
const PROMPT = /^(?:\S{0,32}[$#>] ?)+(?=\S)/
/** What waits for an answer. */
const QUESTION = /[$#>%:?]\s*$/
/** Stands for the beginning of a line that was said before. */
const BEGUN = '...'

/** A device may repeat its profile, or parts of it, also with something before it, and byte by byte. */
const HEX = /(?:(?:0x)?[0-9a-f]{2}[ :,-]{1,2}){7,}(?:0x)?[0-9a-f]{2}|[0-9a-f]{16,}/gi
/** Longer than an ICCID, which is no secret, and has many zeros. */
const PART = 24

/** Collects what a device says, and judges it. */
export class Answer {
  /** The last line that says something, in short. */
  last = ''
  /** Whether the right ICCID was named, if one must be. */
  isNamed: boolean
  passed: string | undefined
  /** What all that it has said decides: a failure outweighs a pass. */
  verdict: Verdict | undefined
  /** What has no end of a line yet, for each stream. */
  readonly #rests: string[] = []
  #unfinished = ''
  readonly #expected: Settings
  readonly #given: HandedOut

  constructor(expected: Settings, given: HandedOut) {
    this.isNamed = expected.read === undefined
    this.#expected = expected
    this.#given = given
  }

  /** What a device said before it got its profile is no answer, but may have begun the line of it. A prompt has not. */
  begin(early: string): void {
    this.add(early)
    const rest = this.#clean(this.#rests[0] ?? '')
    this.#unfinished = rest === '' || QUESTION.test(rest) ? '' : BEGUN
    this.#rests[0] = this.#unfinished
  }

  /** The last line of an answer may have no end. @returns it, once; what follows still belongs to it */
  pause(): string[] {
    const line = this.#clean(this.#rests[0] ?? '')
    if (line === '' || line === this.#unfinished) return []
    this.#unfinished = line
    return [line]
  }

  /** Adds what a stream says. @returns the lines that have ended, as a person may see them */
  add(text: string, stream = 0): string[] {
    const lines = `${this.#rests[stream] ?? ''}${text}`.split(/[\r\n]+/)
    this.#rests[stream] = (lines.pop() ?? '').slice(-LONGEST_LINE)
    return lines.map((line) => this.#clean(line)).filter((line) => line !== '')
  }

  /** Judges a line. */
  judge(line: string): void {
    const own = this.#verdictOf(line)
    if (own !== undefined && this.verdict?.isPassed !== false) this.verdict = own
  }

  /** @returns undefined if it decides nothing */
  #verdictOf(line: string): Verdict | undefined {
    const { pass, fail, read } = this.#expected
    const texts = [line.replace(PROMPT, ''), line]
    const note = line.slice(0, LONGEST_NOTE)
    this.last = note
    if (texts.some((text) => fail?.test(text))) return { isPassed: false, note: `it answers ${note}` }
    const named = texts.map((text) => read?.exec(text)?.[1]).find((name) => name !== undefined)
    // A filler belongs to the card, not to the ICCID.
    if (named?.replace(/\s/g, '').replace(/F+$/i, '') === this.#given.iccid) this.isNamed = true
    else if (named !== undefined) {
      const other = `it got ${this.#given.iccid}, but says ${named}: it may have another identity. Do not ship it`
      return { isPassed: false, note: other }
    }
    if (texts.some((text) => pass?.test(text))) this.passed = note
    return this.passed !== undefined && this.isNamed ? { isPassed: true, note: this.passed } : undefined
  }

  #clean(text: string): string {
    const line = stripVTControlCharacters(text).replace(/\p{C}/gu, '').trim()
    return line.replace(HEX, (run) => {
      const digits = run.toLowerCase().replace(/0x|[ :,-]/g, '')
      const parts = Array.from({ length: Math.max(1, digits.length - PART + 1) }, (_, at) => at)
      const isSecret = parts.some((at) => this.#given.line.includes(digits.slice(at, at + PART)))
      return isSecret ? '(profile)' : run
    })
  }
}
