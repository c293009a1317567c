import { Failure, reasonOf } from '../failure.ts'
import { CallFailure } from '../service/call-failure.ts'
import { type Messages, several } from '../words.ts'
import type { Download, Parts } from './download.ts'
import type { Tally } from './stock.ts'

const LOST_HINT =
  'ask the service provider for the profiles named above, which are allocated; the next fetch or next stores any that were put aside'

const NONE_LEFT_HINT =
  'ask the service provider for more profiles; if your account should have some, check --url'
const SERVICE_HINT = 'check --url, and try again later; if it goes on, tell the operator of the service'

interface Wanted extends Pick<Parts, 'count' | 'stop'> {
  readonly directory: string
  readonly messages: Messages
}

/**
 * Reports the result in one line.
 * @throws {Failure} unless all profiles are stored
 */
export function conclude(
  { count, directory, messages, stop }: Wanted,
  { requests, broken, brokenProfiles, failure }: Download,
  tally: Tally,
  seconds: number,
): void {
  const { stored, known, putAside, lost } = tally
  if (known > 0) messages.warn(`left unchanged: ${several(known, 'profile')} already in ${directory}`)
  if (broken > 0) {
    messages.warn(
      `${several(broken, 'request')} failed after ${broken === 1 ? 'it was' : 'they were'} sent: up to ${several(brokenProfiles, 'profile')} may have been allocated and not received`,
    )
  }
  const summary = `${storedOf(tally, count, directory)} (${several(requests, 'request')}, ${seconds.toFixed(1)} s)`
  if (stored >= count) {
    messages.tell(0, summary)
    return
  }
  if (failure !== undefined && !(failure instanceof CallFailure)) {
    if (stored + putAside + lost > 0) messages.tell(0, summary)
    if (lost > 0) throw new Failure('disk', reasonOf(failure), { hint: LOST_HINT, cause: failure })
    throw failure
  }
  const left = count - stored - putAside
  const rest = left > 0 ? `to fetch the rest, use -n ${left}` : 'the next fetch or next stores the rest'
  if (stop.aborted) throw new Failure('interrupted', `interrupted: ${summary}`, { hint: rest })
  const reason = failure?.message ?? 'the service has no more profiles'
  const hint = failure === undefined ? NONE_LEFT_HINT : (failure.hint ?? SERVICE_HINT)
  const cause = failure
  if (stored > 0) throw new Failure('partial', `${summary}: ${reason}`, { hint: `${hint}; ${rest}`, cause })
  throw new Failure(failure?.outcome ?? 'no-profiles', reason, { hint, cause })
}

function storedOf({ stored, putAside, lost, refused }: Tally, count: number, directory: string): string {
  const what = stored < count ? `${stored} of ${several(count, 'profile')}` : several(stored, 'profile')
  const more = [
    putAside > 0 ? `, ${putAside} more put aside there` : '',
    lost > 0 ? `, ${lost} received but not stored` : '',
    refused > 0 ? `, ${refused} received that can't be used` : '',
  ]
  return `stored ${what} in ${directory}${more.join('')}`
}
