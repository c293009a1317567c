import { Failure } from '../failure.ts'
import { Client } from '../service/client.ts'
import { endpoint } from '../service/url.ts'
import { Hint } from '../store/hint.ts'
import { checkSpaceForOrder } from '../store/incoming/free-space.ts'
import { finishFetches } from '../store/incoming/recover.ts'
import { closeTarget, openTarget, type Target } from '../store/incoming/target.ts'
import { leaveHint } from '../store/queue.ts'
import type { Messages } from '../words.ts'
import { conclude } from './conclusion.ts'
import { download, type Parts } from './download.ts'
import { Stock } from './stock.ts'
import { View } from './view.ts'

const NO_FLUSH =
  "this file system can't flush a directory: after a power cut, the profiles stored last may be missing; a local disk is safer"

export interface Order extends Pick<Parts, 'count' | 'stop' | 'abort'> {
  readonly apiKey: string
  readonly directory: string
  readonly url: string
  readonly version: string
  readonly messages: Messages
  readonly progress: { follow(line: () => string): void }
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
  const client = new Client({ url, apiKey, trace: (level, text) => messages.tell(level, text) })
  try {
    const target = await openTarget(directory)
    if (!target.canFlush) messages.warn(NO_FLUSH)
    try {
      await finishFetches(directory, messages)
      await fetchInto(target, order, client)
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

async function fetchInto(target: Target, order: Order, client: Client): Promise<void> {
  const { count, messages, progress, stop, abort } = order
  const began = performance.now()
  checkSpaceForOrder(target, count)
  const stock = new Stock(target, messages)
  const view = new View(count, stock.tally, messages)
  progress.follow(() => view.line(performance.now()))
  const result = await download({ count, client, stock, view, stop, abort })
  conclude(order, result, stock.tally, (performance.now() - began) / 1000)
}
