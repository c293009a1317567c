/** Why a call brought no profiles. */
export class CallFailure extends Error {
  /** Whether the same call may do better a little later. */
  readonly isPassing: boolean
  /** Whether the service may have allocated profiles for it: it was sent, and its answer did not arrive. */
  readonly mayHaveAllocated: boolean
  /** The status it was answered with, if it was. */
  readonly status: number | undefined
  readonly hint: string | undefined
  /** What it means for the whole fetch, where nothing else was brought. */
  readonly outcome: 'api-key' | 'service'

  constructor(
    message: string,
    traits: {
      isPassing?: boolean
      mayHaveAllocated?: boolean
      status?: number
      hint?: string | undefined
      outcome?: 'api-key' | 'service'
      cause?: unknown
    } = {},
  ) {
    super(message, { cause: traits.cause })
    this.name = 'CallFailure'
    this.isPassing = traits.isPassing ?? false
    this.mayHaveAllocated = traits.mayHaveAllocated ?? false
    this.status = traits.status
    this.hint = traits.hint
    this.outcome = traits.outcome ?? 'service'
  }
}

const LONGEST_TEXT = 200

/** Not implemented, HTTP version not supported, network authentication required (RFC 9110 15.6, RFC 6585 6). */
const NEVER_CARRIED_OUT = [501, 505, 511]

/**
 * What an answer other than 200 means.
 * @param text what the service says of it, without tags
 */
export function statusFailure(
  status: number,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  text: string,
): CallFailure {
  const said = text === '' ? '' : `: ${Array.from(text).slice(0, LONGEST_TEXT).join('')}`
  if (status === 401 || status === 403) {
    return new CallFailure(`the service does not accept the API key (${status})${said}`, {
      status,
      outcome: 'api-key',
      hint: 'it takes a key made for SoftSIM profiles: give it in SOFTSIM_API_KEY',
    })
  }
  if (status === 404) return new CallFailure(`the service has no more profiles (404)${said}`, { status })
  if (status === 429) return new CallFailure('the rate limit is reached (429)', { status, isPassing: true })
  // A gateway says 502, 504 or a number of its own of a call that it passed on and lost, and a service that failed may
  // have failed after it had allocated. Only one that says when to come back has not begun.
  const isPutOff = status === 503 && headers['retry-after'] !== undefined
  const isLost = status >= 500 && !NEVER_CARRIED_OUT.includes(status)
  // A success of another kind has nothing that can be read, and has probably allocated.
  const isOdd = status >= 200 && status < 300
  return new CallFailure(`the service answered ${status}${said}`, {
    status,
    // 408: the request took too long to arrive, as it does on a slow line.
    isPassing: isLost || status === 408,
    mayHaveAllocated: isOdd || (isLost && !isPutOff),
  })
}
