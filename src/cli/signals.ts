import { exitCode } from './exit-codes.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** How a command reacts to Ctrl-C (SIGINT), SIGTERM and a closed terminal (SIGHUP). */
export interface Interrupt {
  /** Aborted at the first signal: start nothing new. */
  readonly stop: AbortSignal
  /** Aborted `graceMs` later: give up pending work. */
  readonly abort: AbortSignal
  /** From now on, another signal does not end the process. */
  hold(): void
  release(): void
}

/**
 * Makes the first signal ask for an orderly end. A second signal ends the process at once, with exit code 130.
 * @param onSignalled is called for each signal that has an effect; `isLast` means that the process ends now
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
