import { Failure } from '../../failure.ts'
import type { Signals } from '../ready.ts'
import { isOutputClosed } from '../standard-output.ts'

/** @throws {Failure} `interrupted` after a signal, before anything is claimed */
export function checkStop({ stop }: Signals): void {
  if (!stop.aborted) return
  throw new Failure('interrupted', 'interrupted; nothing was claimed')
}

/**
 * Checks once more for problems that are visible before a claim.
 * @throws {Failure} `interrupted` or `disk`; in each case, nothing is claimed
 */
export function beforeClaim(signals: Signals): void {
  checkStop(signals)
  if (isOutputClosed()) throw new Failure('no-output', 'standard output is closed; nothing was claimed')
  signals.hold()
}
