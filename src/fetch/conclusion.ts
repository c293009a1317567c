import { Failure, reasonOf } from '../failure.ts'
import { CallFailure } from '../service/call-failure.ts'
import { type Messages, several } from '../words.ts'
import type { Download, Parts } from './download.ts'
import type { Tally } from './stock.ts'

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
    if (lost > 0) throw new Failure('lost', reasonOf(failure), failure)
    throw failure
  }
  const left = count - stored - putAside
  if (stop.aborted) throw new Failure({ kind: 'interrupted-fetch', left }, `interrupted: ${summary}`)
  const cause = failure ?? new Failure('no-more', 'the service has no more profiles')
  if (stored > 0) throw new Failure({ kind: 'partial', left }, `${summary}: ${cause.message}`, cause)
  throw cause
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
