import { Failure, reasonOf } from '../failure.ts'
import { CallFailure } from '../service/call-failure.ts'
import { type Messages, several } from '../words.ts'
import type { Download } from './job.ts'
import { summaryOf, type Tally } from './tally.ts'

const LOST_HINT =
  'ask the service provider for the profiles named above, which are allocated; the next fetch or next stores any that were put aside'

const NONE_LEFT_HINT =
  'ask the service provider for more profiles; if your account should have some, check --url'
const SERVICE_HINT = 'check --url, and try again later; if it goes on, tell the operator of the service'

export interface Course {
  readonly count: number
  readonly directory: string
  readonly download: Download
  readonly tally: Tally
  readonly seconds: number
  readonly isInterrupted: boolean
}

/**
 * Reports the result in one line.
 * @throws {Failure} unless all profiles are stored
 */
export function conclude(course: Course, messages: Messages): void {
  const { count, directory, download, tally, seconds, isInterrupted } = course
  const { requests, broken, brokenProfiles, failure } = download
  const { stored, known, aside, lost } = tally
  if (known > 0) messages.warn(`left unchanged: ${several(known, 'profile')} already in ${directory}`)
  if (broken > 0) {
    messages.warn(
      `${several(broken, 'request')} failed after ${broken === 1 ? 'it was' : 'they were'} sent: up to ${several(brokenProfiles, 'profile')} may have been allocated and not received`,
    )
  }
  const summary = `${summaryOf(tally, count, directory)} (${several(requests, 'request')}, ${seconds.toFixed(1)} s)`
  if (stored >= count) {
    messages.tell(0, summary)
    return
  }
  if (failure !== undefined && !(failure instanceof CallFailure)) {
    if (stored + aside + lost > 0) messages.tell(0, summary)
    if (lost > 0) throw new Failure('disk', reasonOf(failure), { hint: LOST_HINT, cause: failure })
    throw failure
  }
  const left = count - stored - aside
  const rest = left > 0 ? `to fetch the rest, use -n ${left}` : 'the next fetch or next stores the rest'
  if (isInterrupted) throw new Failure('interrupted', `interrupted: ${summary}`, { hint: rest })
  const reason = failure?.message ?? 'the service has no more profiles'
  const hint = failure === undefined ? NONE_LEFT_HINT : (failure.hint ?? SERVICE_HINT)
  const cause = failure
  if (stored > 0) throw new Failure('partial', `${summary}: ${reason}`, { hint: `${hint}; ${rest}`, cause })
  throw new Failure(failure?.outcome ?? 'no-profiles', reason, { hint, cause })
}
