/** What a device or its program says, and whether that is a pass. */
import { stripVTControlCharacters } from 'node:util'
import type { HandedOut } from '../next/next.ts'
import type { Settings } from './settings.ts'

export interface Verdict {
  readonly isPassed: boolean
  /** The reason, in short. */
  readonly note: string
}

/** How a device is listened to. */
export interface Limits {
  readonly timeoutMs: number
  readonly stop: AbortSignal
  readonly hear: (line: string) => void
}

const [LONGEST_LINE, LONGEST_NOTE] = [4096, 200]

/** A shell on the device may print its prompt before the answer: `uart:~$ OK`. */
const PROMPT = /^\S{0,32}[$#>] ?(?=\S)/

/** A device may repeat its profile, or parts of it, also with something before it, and byte by byte. */
const HEX = /(?:[0-9a-f]{2}[ :-]){7,}[0-9a-f]{2}|[0-9a-f]{16,}/gi
/** Longer than an ICCID, which is no secret, and has many zeros. */
const PART = 24

/** Collects what a device says, and judges it. */
export class Answer {
  /** The last line that says something, in short. */
  last = ''
  /** Whether the right ICCID was named, if one must be. */
  isNamed: boolean
  passed: string | undefined
  /** What has no end of a line yet, for each stream. */
  readonly #rests: string[] = []
  readonly #expected: Settings
  readonly #given: HandedOut

  constructor(expected: Settings, given: HandedOut) {
    this.isNamed = expected.read === undefined
    this.#expected = expected
    this.#given = given
  }

  /** Adds what a stream says. @returns the lines that have ended, as a person may see them */
  add(text: string, stream = 0): string[] {
    const lines = `${this.#rests[stream] ?? ''}${text}`.split(/[\r\n]+/)
    this.#rests[stream] = (lines.pop() ?? '').slice(-LONGEST_LINE)
    return lines.map((line) => this.#clean(line)).filter((line) => line !== '')
  }

  /** Judges a line. @returns undefined if it decides nothing */
  judge(line: string): Verdict | undefined {
    const { pass, fail, read } = this.#expected
    const words = line.replace(PROMPT, '')
    const note = line.slice(0, LONGEST_NOTE)
    this.last = note
    if (fail?.test(words)) return { isPassed: false, note: `it answers ${note}` }
    const named = read?.exec(words)?.[1]
    // A filler belongs to the card, not to the ICCID.
    if (named?.replace(/\s/g, '').replace(/F+$/i, '') === this.#given.iccid) this.isNamed = true
    else if (named !== undefined) {
      const other = `it got ${this.#given.iccid}, but says ${named}: it may have another identity. Do not ship it`
      return { isPassed: false, note: other }
    }
    if (pass?.test(words)) this.passed = note
    return this.passed !== undefined && this.isNamed ? { isPassed: true, note: this.passed } : undefined
  }

  #clean(text: string): string {
    const line = stripVTControlCharacters(text).replace(/\p{C}/gu, '').trim()
    return line.replace(HEX, (run) => {
      const digits = run.toLowerCase().replace(/[ :-]/g, '')
      const parts = Array.from({ length: Math.max(1, digits.length - PART + 1) }, (_, at) => at)
      const isSecret = parts.some((at) => this.#given.line.includes(digits.slice(at, at + PART)))
      return isSecret ? '(profile)' : run
    })
  }
}
