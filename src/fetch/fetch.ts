import { Failure, reasonOf } from '../failure.ts'
import { CallFailure } from '../service/call-failure.ts'
import { type Client, clientOf, endpoint } from '../service/client.ts'
import { FLUSHES_AT_ONCE } from '../store/flush/flush.ts'
import { identify } from '../store/identity.ts'
import { Intake, type Tally } from '../store/incoming/add.ts'
import type { Target } from '../store/incoming/answers.ts'
import { checkSpaceForOrder } from '../store/incoming/free-space.ts'
import { finishFetches, warnOfVendorList } from '../store/incoming/recover.ts'
import { closeTarget, openTarget } from '../store/incoming/target-directory.ts'
import { checkOpenFiles } from '../store/open-files.ts'
import { FreeList, leaveFreeList } from '../store/queue.ts'
import { type Messages, type Progress, several } from '../words.ts'
import { type Download, download, type Parts, viewOf } from './download.ts'
import { MOST_ANSWERS } from './planner.ts'

const NO_FLUSH =
  "this file system can't flush a directory: after a power cut, the profiles stored last may be missing; a local disk is safer"

export interface Order extends Pick<Parts, 'count' | 'stop' | 'abort'> {
  readonly apiKey: string
  readonly directory: string
  readonly url: string
  readonly version: string
  readonly messages: Messages
  readonly progress: Progress
}

/** @throws {Failure} */
export async function fetchProfiles(order: Order): Promise<void> {
  const { apiKey, directory, messages } = order
  const url = endpoint(order.url, order.version)
  if (process.env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') {
    throw new Failure(
      'unchecked-tls',
      'NODE_TLS_REJECT_UNAUTHORIZED=0 turns off certificate checks and would expose the API key',
    )
  }
  const client = clientOf({ url, apiKey, trace: (level, text) => messages.tell(level, text) })
  try {
    const target = await openTarget(directory)
    if (!target.canFlush) messages.warn(NO_FLUSH)
    if (identify(directory) === 'copy')
      messages.warn(
        `${directory} is a copy, or came back from a backup: nothing is handed out of it`,
        'copied',
      )
    let unused: number | undefined
    try {
      await finishFetches(directory, messages)
      warnOfVendorList(directory, messages)
      await fetchInto(target, order, client)
    } finally {
      unused = renewFreeList(directory, messages)
      closeTarget(target)
    }
    const isNew = target.made.length > 0 ? 'is new, and ' : ''
    if (unused !== undefined)
      messages.tell(0, `${directory} ${isNew}has ${several(unused, 'unused profile')} now`)
  } finally {
    await client.close()
  }
}

async function fetchInto(target: Target, order: Order, client: Client): Promise<void> {
  const { count, messages, progress, stop, abort } = order
  const began = performance.now()
  checkSpaceForOrder(target, count)
  checkOpenFiles(target.directory, Math.min(count, MOST_ANSWERS * FLUSHES_AT_ONCE))
  const intake = new Intake(target, messages)
  const view = viewOf(count, intake.tally, messages, () => progress.note())
  progress.follow(() => view.line(performance.now()))
  const result = await download({ count, client, intake, view, stop, abort })
  progress.end()
  conclude(order, result, intake.tally, (performance.now() - began) / 1000)
}

/**
 * Reading a million names takes seconds. Here nobody waits for that; at a station, somebody would.
 * @returns how many profiles are unused, if the directory can be read
 */
function renewFreeList(directory: string, messages: Messages): number | undefined {
  try {
    return leaveFreeList(directory, messages)
  } catch {
    FreeList.drop(directory)
    return undefined
  }
}

/**
 * Reports the result in one line.
 * @throws {Failure} unless all profiles are stored
 */
export function conclude(
  { count, directory, messages, stop }: Pick<Order, 'count' | 'directory' | 'messages' | 'stop'>,
  { requests, broken, brokenProfiles, failure, trouble }: Download,
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
  if (stop.aborted) {
    const silence = requests > 0 && stored === 0 ? ': the service did not answer' : ''
    const last = trouble === undefined ? silence : `: ${trouble.message}`
    throw new Failure({ kind: 'interrupted-fetch', left }, `interrupted: ${summary}${last}`)
  }
  const why =
    known > 0
      ? `the service sends only profiles that are already in ${directory}`
      : 'the service has no more profiles'
  const cause = failure ?? new Failure('no-more', why)
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
