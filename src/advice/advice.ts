/** The exit code, the message and the hint of an error. */
import { errnoOf, Failure } from '../failure.ts'
import { OUTCOMES, type Outcome, type PlainKind } from './exit-codes.ts'

const REPORT =
  'report it where you got softsim; include the line above and the output of the same command with -vvv'

export type Advice = Readonly<{ outcome: Outcome; message: string; hint: string }>

/** A mistake in what was typed, or in the environment. */
export class UsageError extends Error {
  readonly hint: string

  constructor(message: string, hint: string) {
    super(message)
    this.name = 'UsageError'
    this.hint = hint
  }
}

type Hint = string | ((facts: object) => string)
type Entry = Hint | { readonly message: string; readonly hint: Hint }

/** @param platform the system whose commands the hint names */
export function adviceOn(error: unknown, platform: NodeJS.Platform = process.platform): Advice {
  if (error instanceof UsageError) return { outcome: 'usage', message: error.message, hint: error.hint }
  if (!(error instanceof Failure)) {
    const message = `internal error in softsim: ${error instanceof Error ? error.message : String(error)}`
    return { outcome: 'bug', message, hint: REPORT }
  }
  const { facts, cause } = error
  const [outcome, entry] = entryFor(facts.kind)
  const { message, hint } = typeof entry === 'object' ? entry : { message: error.message, hint: entry }
  const system = systemErrorIn(cause)
  const context = {
    cause,
    errno: errnoOf(system),
    file: system?.path,
    platform,
    hintOn: (other: unknown) =>
      adviceOn(typeof other === 'string' ? new Failure(other as PlainKind) : other, platform).hint,
  }
  // A profile that could not be printed has the exit code of what prevented it.
  const isOther = facts.kind === 'undelivered' && cause instanceof Failure
  return {
    outcome: isOther ? adviceOn(cause).outcome : outcome,
    message,
    hint: typeof hint === 'string' ? hint : hint({ ...facts, ...context }),
  }
}

function entryFor(kind: string): readonly [Outcome, Entry] {
  for (const [outcome, [, , hints]] of Object.entries(OUTCOMES)) {
    // TypeScript does not see that the hint is for these facts.
    if (kind in hints) return [outcome as Outcome, (hints as Record<string, Entry>)[kind] as Entry]
  }
  throw new Error(`no advice on ${kind}`)
}

/** The error of the system behind others. */
function systemErrorIn(error: unknown): NodeJS.ErrnoException | undefined {
  if (!(error instanceof Error)) return undefined
  return errnoOf(error) === undefined ? systemErrorIn(error.cause) : error
}
