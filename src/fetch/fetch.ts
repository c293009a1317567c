/** One call of `fetch`: what is missing is downloaded, and what became of it is said. */
import { Failure } from '../failure.ts'
import { CallFailure } from '../service/call-failure.ts'
import { clientOf, endpoint } from '../service/client.ts'
import { finishAnswers, identityState, leaveList, look, makeTarget, waitingIn } from '../store/directory.ts'
import { durationOf, type Messages, type Progress, several } from '../words.ts'
import { download, Tally, type Work } from './downloader.ts'

export interface Order extends Pick<Work, 'directory' | 'stop' | 'abort' | 'messages'> {
  readonly apiKey: string
  /** How many new profiles to fetch. */
  readonly count: number
  /** How many unused profiles there should be, in place of `count`. */
  readonly stock?: number | undefined
  readonly url: string
  readonly version: string
  readonly progress: Progress
}

/** @throws {Failure} unless all profiles are stored */
export async function fetchProfiles(order: Order): Promise<void> {
  const { apiKey, directory, messages, progress, stock } = order
  const client = clientOf(endpoint(order.url, order.version), apiKey, messages.tell.bind(messages))
  try {
    await finishAnswers(directory, messages)
    const before = unusedIn(directory, (each) => look(each).unused.length)
    if (before !== undefined) warnOf(directory, messages)
    const count = stock === undefined ? order.count : stock - (before ?? 0)
    if (before === undefined) makeTarget(directory)
    const what = count > 0 ? `ordering ${count}` : 'nothing to order'
    if (stock !== undefined)
      messages.tell(0, `${directory} has ${several(before ?? 0, 'unused profile')}: ${what}`)
    if (count <= 0) return
    const tally = new Tally()
    const began = performance.now()
    const { notePause, line } = viewOf(count, tally, messages)
    progress.follow(line)
    await download({ ...order, count, client, notePause }, tally)
    progress.end()
    try {
      conclude(order, count, tally, (performance.now() - began) / 1000)
    } finally {
      // To read a million names takes seconds. Here nobody waits for that; at a station, somebody would.
      const now = tally.stored > 0 ? unusedIn(directory, leaveList) : undefined
      const isNew = before === undefined ? 'is new, and ' : ''
      if (now !== undefined)
        messages.tell(0, `${directory} ${isNew}has ${several(now, 'unused profile')} now`)
    }
  } finally {
    await client.close()
  }
}

function warnOf(directory: string, messages: Messages): void {
  for (const { count, station, time } of waitingIn(directory).requests)
    messages.warn(
      `a fetch of ${station} has asked for ${several(count, 'profile')} at ${time} and has no answer: if it does not run any more, ask the service provider for them`,
    )
  if (identityState(directory) === 'copy')
    messages.warn(
      `${directory} is a copy, or came back from a backup: before softsim restore, nothing is handed out of it`,
    )
}

/** @returns undefined if there is no such directory */
function unusedIn(directory: string, count: (directory: string) => number): number | undefined {
  try {
    return count(directory)
  } catch (error) {
    if (error instanceof Failure && error.outcome === 'no-profiles') return undefined
    throw error
  }
}

/** A shorter pause is reported only with -v. */
const LONG_MS = 10_000

/** What a person sees of a running `fetch`: how far it is, how long it will take, and why it waits. */
function viewOf(count: number, tally: Tally, messages: Messages) {
  const began = performance.now()
  let pause = { why: '', until: 0 }
  return {
    notePause(why: string, ms: number): void {
      pause = { why, until: performance.now() + ms }
      messages.tell(ms >= LONG_MS ? 0 : 1, `${why}; it goes on in ${durationOf(ms)}`)
    },

    /** One line, without its newline. */
    line(): string {
      const { stored } = tally
      const now = performance.now()
      const done = `${Math.floor((Math.min(stored, count) / count) * 100)} % (${stored} of ${count})`
      if (pause.until > now) return `${done}, ${pause.why}; it goes on in ${durationOf(pause.until - now)}`
      const leftMs = ((now - began) / stored) * (count - stored)
      return stored > 0 && leftMs > 0 ? `${done}, ${durationOf(leftMs)} left` : done
    },
  }
}

/**
 * Reports the result in one line.
 * @throws {Failure} unless all profiles are stored
 */
function conclude(order: Order, count: number, tally: Tally, seconds: number): void {
  const { directory, messages, stock, stop } = order
  const { stored, putAside, mayBeLost, requests, failure } = tally
  const many = Number.isFinite(mayBeLost) ? `up to ${several(mayBeLost, 'profile')}` : 'more profiles'
  if (mayBeLost > 0)
    messages.warn(
      `${many} may have been allocated and not received, in requests that failed after they were sent: ask the service provider for them`,
    )
  const summary = `${storedOf(tally, count, directory)} (${several(requests, 'request')}, ${seconds.toFixed(1)} s)`
  const isRepeated = failure instanceof CallFailure && failure.traits.isRepeated
  if (stored >= count && !isRepeated) {
    messages.tell(0, summary)
    return
  }
  const left = Math.max(0, count - stored - putAside)
  const rest =
    stock === undefined ? `the same command with -n ${left} gets the rest` : 'then run the same command again'
  if (stop.aborted && failure === undefined) throw new Failure('interrupted', `interrupted: ${summary}`, rest)
  // A full disk and a cache have exit codes of their own, whatever was stored before.
  if (failure instanceof CallFailure && !isRepeated && stored > 0)
    throw new Failure('partial', `${summary}: ${failure.message}`, `${failure.hint}; ${rest}`, failure)
  if (stored + putAside > 0) messages.tell(0, summary)
  throw failure
}

function storedOf({ stored, putAside }: Tally, count: number, directory: string): string {
  const what = stored < count ? `${stored} of ${several(count, 'profile')}` : several(stored, 'profile')
  const more = stored > count ? `, ${stored - count} more than ordered` : ''
  const aside = putAside > 0 ? `, ${putAside} more put aside there` : ''
  return `stored ${what} in ${directory}${more}${aside}`
}
