import { Failure } from '../failure.ts'
import { exitCode } from './exit-codes.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Makes the first signal, Ctrl-C (SIGINT), SIGTERM or a closed terminal (SIGHUP), ask for an orderly end. A second one
 * ends the process at once, with exit code 130.
 * @param onSignalled is called for each signal that has an effect; `isLast` means that the process ends now
 */
export function onInterrupt(graceMs: number, onSignalled: (isLast: boolean) => void = () => {}) {
  const stop = new AbortController()
  const abort = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let isHeld = false
  const onSignal = () => {
    if (stop.signal.aborted && isHeld) return
    onSignalled(stop.signal.aborted)
    if (stop.signal.aborted) process.exit(exitCode('interrupted'))
    stop.abort(new Failure('interrupted', 'interrupted', 'run the same command again'))
    timer = setTimeout(() => abort.abort(), graceMs)
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  return {
    /** Aborted at the first signal: start nothing new. */
    stop: stop.signal,
    /** Aborted `graceMs` later: give up pending work. */
    abort: abort.signal,
    /** From now on, another signal does not end the process. */
    hold() {
      isHeld = true
    },
    release() {
      clearTimeout(timer)
      for (const signal of SIGNALS) process.off(signal, onSignal)
    },
  }
}
