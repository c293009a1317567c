import { setFlagsFromString } from 'node:v8'
import { Failure } from '../failure.ts'
import type { CallFailure } from '../service/call-failure.ts'
import { Client } from '../service/client.ts'
import { endpoint } from '../service/url.ts'
import { Hint } from '../store/hint.ts'
import { finishFetches } from '../store/incoming/recover.ts'
import { closeTarget, openTarget, type Target } from '../store/incoming/target.ts'
import { leaveHint } from '../store/queue.ts'
import { type Messages, unsetting } from '../words.ts'
import { conclude } from './conclusion.ts'
import { download } from './download.ts'
import { Stock } from './stock.ts'
import { View } from './view.ts'

/**
 * Threads in libuv's pool. Flushes wait for the disk, not for a processor. Where a flush takes 5 ms, 32 threads take two
 * fifths of the time of libuv's own 4; where it takes next to none, they take the same.
 */
const THREADS = '32'

const NO_FLUSH =
  "this file system can't flush a directory: after a power cut, the profiles stored last may be missing; a local disk is safer"

export interface Order {
  readonly apiKey: string
  readonly count: number
  readonly directory: string
  readonly url: string
  readonly version: string
  readonly messages: Messages
  readonly progress: { follow(line: () => string): void }
  /** Aborted: send no more requests. */
  readonly stop: AbortSignal
  /** Aborted: give up pending requests. */
  readonly abort: AbortSignal
}

/** @throws {Failure} */
export async function fetchProfiles(order: Order): Promise<void> {
  const { apiKey, directory, messages } = order
  const url = endpoint(order.url, order.version)
  if (process.env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') {
    throw new Failure(
      'usage',
      'NODE_TLS_REJECT_UNAUTHORIZED=0 turns off certificate checks and would expose the API key',
      {
        hint: `${unsetting('NODE_TLS_REJECT_UNAUTHORIZED')}; if the service uses its own CA, set NODE_EXTRA_CA_CERTS to the CA certificate file`,
      },
    )
  }
  // libuv reads this when it first needs a thread, and ends the process if it can't start all of them. Set it before
  // any request is sent.
  process.env['UV_THREADPOOL_SIZE'] ??= THREADS
  // A million profiles pass through memory, but none stays. Peak memory for 20,000 is a third smaller, for a sixth more
  // processor time. Node advises against flags this late, but its flags at start would apply to all commands.
  setFlagsFromString('--optimize-for-size')
  // Another 5 % of memory, for no time.
  setFlagsFromString('--semi-space-growth-factor=1')
  const client = new Client({ url, apiKey, trace: (level, text) => messages.tell(level, text) })
  try {
    const target = await openTarget(directory)
    if (!target.canFlush) messages.warn(NO_FLUSH)
    try {
      await finishFetches(directory, messages)
      await bring(order, client, target)
    } finally {
      renewHint(directory, messages)
      closeTarget(target)
    }
  } finally {
    await client.close()
  }
}

/** Reading a million names takes seconds. Here nobody waits for that; at a station, somebody would. */
function renewHint(directory: string, messages: Messages): void {
  try {
    leaveHint(directory, messages)
  } catch {
    Hint.drop(directory)
  }
}

async function bring(order: Order, client: Client, target: Target): Promise<void> {
  const { count, directory, messages, progress, stop, abort } = order
  const began = performance.now()
  const seconds = () => (performance.now() - began) / 1000
  const stock = new Stock(target, messages)
  stock.checkOrder(count)
  const { tally } = stock
  const view = new View(count, () => tally.stored)
  const display = {
    onKept() {
      view.noteStored(performance.now())
      messages.tell(1, `${tally.stored} of ${count} profiles stored`)
    },
    onWait(ms: number) {
      view.noteLimit(ms, performance.now())
      messages.tell(0, `waiting ${Math.ceil(ms / 1000)} s for the rate limit`)
    },
    onRetry(failure: CallFailure, ms: number, tries: string) {
      view.noteRetry(failure.message, ms, tries, performance.now())
      messages.tell(1, `${failure.message}; trying again in ${Math.ceil(ms / 1000)} s (${tries})`)
    },
    onRefused: (entry: string) => messages.warn(`${entry}; not stored`),
  }
  progress.follow(() => view.line(performance.now()))
  const result = await download({ count, client, stock, display, stop, abort })
  const isInterrupted = stop.aborted
  conclude({ count, directory, download: result, tally, seconds: seconds(), isInterrupted }, messages)
}
