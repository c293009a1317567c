import { setFlagsFromString } from 'node:v8'
import { startProgress } from '../cli/progress.ts'
import type { Report } from '../cli/report.ts'
import { onInterrupt } from '../cli/signals.ts'
import { VERSION } from '../cli/version.ts'
import { Failure, reasonOf } from '../failure.ts'
import { finishFetches } from '../recovery.ts'
import { CallFailure } from '../service/call-failure.ts'
import { Client } from '../service/client.ts'
import { endpoint } from '../service/url.ts'
import { add, NotAdded } from '../store/incoming/add.ts'
import { release, reserve } from '../store/incoming/reserve.ts'
import { checkRoom, closeTarget, openTarget, type Target } from '../store/incoming/target.ts'
import { several } from '../words.ts'
import { type Download, download } from './download.ts'
import { noteAdded, noteNotAdded, summaryOf, type Tally } from './tally.ts'

/** How long calls under way may take after Ctrl-C: what they bring is paid for. */
const GRACE_MS = 10_000

const AGAIN = 'Ctrl-C again ends at once'
const AT_ONCE =
  'ended at once: what was received is stored by the next fetch or next, what was under way is lost'

/**
 * Threads of libuv's pool; it reads the variable when the first of them is needed, and gives up the whole process
 * where it can't start them all, before anything is asked for. Where a flush takes 5 ms, 32 take two fifths of the
 * time of its own 4; where it takes next to none, the same. On a fast disk and on a slow one 32 are within 6 % of 64,
 * 16 are not.
 */
const FLUSHES_AT_ONCE = '32'

const LOST_HINT =
  'ask the service for the profiles that are named above, they are allocated; what is put aside is stored by the next call of fetch or next'

const NO_FLUSH =
  "this file system can't flush a directory: after a power cut, the profiles stored last may be missing; a local disk is safer"

export interface Order {
  readonly apiKey: string
  readonly count: number
  readonly directory: string
  readonly url: string
  readonly env: NodeJS.ProcessEnv
  readonly report: Report
}

/**
 * Brings profiles from the service into the directory, and tells how it went.
 * @throws {Failure}
 */
export async function fetchProfiles(order: Order): Promise<void> {
  const { directory, report, env } = order
  const url = endpoint(order.url, VERSION)
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') {
    throw new Failure('usage', 'NODE_TLS_REJECT_UNAUTHORIZED=0 would give the API key to anybody who asks', {
      hint: 'unset it; where the service has a CA of its own, name it in NODE_EXTRA_CA_CERTS',
    })
  }
  // Flushes wait for the disk, not for a processor.
  env['UV_THREADPOOL_SIZE'] ??= FLUSHES_AT_ONCE
  // A million profiles pass through here and none of them stays: the heap need not grow. It takes a third off the peak
  // memory of 20,000, and more of more, for a sixth more of processor time. Node advises against flags this late; what
  // it offers at the start is for all commands.
  setFlagsFromString('--optimize-for-size')
  const client = new Client({ url, apiKey: order.apiKey, trace: (level, text) => report.tell(level, text) })
  try {
    const target = await openTarget(directory)
    if (!target.canFlush) report.warn(NO_FLUSH)
    try {
      await finishFetches(directory, report)
      await bring(order, client, target)
    } finally {
      closeTarget(target)
    }
  } finally {
    await client.close()
  }
}

async function bring(order: Order, client: Client, target: Target): Promise<void> {
  const { count, directory, report } = order
  const began = performance.now()
  const seconds = () => (performance.now() - began) / 1000
  const interrupt = onInterrupt(GRACE_MS, (isLast) =>
    report.warn(
      isLast ? AT_ONCE : `interrupted: waiting up to ${GRACE_MS / 1000} s for answers under way; ${AGAIN}`,
    ),
  )
  const progress = await startProgress(report)
  const tally: Tally = { stored: 0, known: 0, aside: 0, lost: 0 }
  const show = (doing = '') => {
    const rate = Math.round(tally.stored / Math.max(seconds(), 0.001))
    progress.update(`${tally.stored} of ${count} profiles stored, ${rate} a second${doing}`)
  }
  show()
  try {
    const result = await download<string>({
      count,
      async reserve(size) {
        checkRoom(target, size)
        return reserve(target, size)
      },
      release: (aside) => release(target, aside),
      ask: (size, learn, signal) => client.ask(size, learn, signal),
      keep: async (profiles, aside) => {
        const added = await add(target, profiles, aside).catch((error) => {
          if (error instanceof NotAdded) noteNotAdded(tally, error)
          // Each is told here: of several that fail at once, the end names one.
          report.warn(reasonOf(error))
          throw error
        })
        noteAdded(tally, added)
        for (const iccid of added.stored) report.tell(2, `${iccid} is stored`)
        for (const iccid of added.known) report.tell(2, `${iccid} is in ${directory} already`)
        report.tell(1, `${tally.stored} of ${count} profiles stored`)
        show()
        return added.stored.length
      },
      stop: interrupt.stop,
      abort: interrupt.abort,
      onWait(ms) {
        const wait = `waiting ${Math.ceil(ms / 1000)} s for the rate limit`
        show(`, ${wait}`)
        report.tell(0, wait)
      },
      onRetry(failure) {
        const retry = `${failure.message}; trying again`
        show(`, ${retry}`)
        report.tell(1, retry)
      },
      onRefused: (entry) => report.warn(`${entry}; it is not stored`),
    })
    progress.end()
    if (tally.known > 0)
      report.warn(`already in ${directory} and left alone: ${several(tally.known, 'profile')}`)
    conclude(order, result, tally, seconds(), interrupt.stop.aborted)
  } finally {
    progress.end()
    interrupt.release()
  }
}

/** The one line that says how it went: as a message where all is there, as a failure where not. */
function conclude(
  { count, directory, report }: Order,
  { requests, broken, brokenProfiles, failure }: Download,
  tally: Tally,
  seconds: number,
  interrupted: boolean,
): void {
  if (broken > 0) {
    report.warn(
      `${several(broken, 'request')} broke after ${broken === 1 ? 'it was' : 'they were'} sent: up to ${several(brokenProfiles, 'profile')} may have been allocated and not received`,
    )
  }
  const { stored } = tally
  const summary = `${summaryOf(tally, count, directory)} (${several(requests, 'request')}, ${seconds.toFixed(1)} s)`
  if (stored >= count) {
    report.tell(0, summary)
    return
  }
  if (failure !== undefined && !(failure instanceof CallFailure)) {
    if (stored + tally.aside + tally.lost > 0) report.tell(0, summary)
    if (tally.lost > 0) throw new Failure('disk', reasonOf(failure), { hint: LOST_HINT, cause: failure })
    throw failure
  }
  if (interrupted) throw new Failure('interrupted', `interrupted: ${summary}`)
  const reason = failure?.message ?? 'the service has no more profiles'
  const details = { ...(failure?.hint ? { hint: failure.hint } : {}), cause: failure }
  if (stored > 0) throw new Failure('partial', `${summary}: ${reason}`, details)
  throw new Failure(outcomeOf(failure), reason, details)
}

function outcomeOf(failure: CallFailure | undefined): 'no-profiles' | 'api-key' | 'service' {
  if (failure === undefined) return 'no-profiles'
  return failure.status === 401 || failure.status === 403 ? 'api-key' : 'service'
}
