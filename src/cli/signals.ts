import { exitCode } from '../failure.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** What Ctrl-C (SIGINT), SIGTERM and a closed terminal (SIGHUP) do to a call that must not simply die. */
export interface Interrupt {
  /** Aborted at the first signal: begin nothing new. */
  readonly stop: AbortSignal
  /** Aborted `graceMs` later: give up what is under way. */
  readonly abort: AbortSignal
  /** From now on no further signal ends the process at once. */
  hold(): void
  /** Signals have their usual effect again. */
  release(): void
}

/**
 * Makes the first signal ask for an end in good order. A second one ends the process at once, with 130.
 * @param onSignalled is told of each that has an effect, and whether it is the last
 */
export function onInterrupt(graceMs: number, onSignalled: (isLast: boolean) => void = () => {}): Interrupt {
  const stop = new AbortController()
  const abort = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let isHeld = false
  const onSignal = () => {
    if (stop.signal.aborted && isHeld) return
    onSignalled(stop.signal.aborted)
    if (stop.signal.aborted) process.exit(exitCode('interrupted'))
    stop.abort()
    timer = setTimeout(() => abort.abort(), graceMs)
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  return {
    stop: stop.signal,
    abort: abort.signal,
    hold() {
      isHeld = true
    },
    release() {
      clearTimeout(timer)
      for (const signal of SIGNALS) process.off(signal, onSignal)
    },
  }
}
