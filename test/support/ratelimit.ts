import { textAnswer } from './answers.ts'

/**
 * A window for each API key; its end is a whole second, as the header can tell no other. It ends so many seconds after it
 * is used up: a client on a busy machine can't miss it.
 */
export function rateLimit(limit: number, seconds: number, now: () => number) {
  const windows = new Map<string | undefined, { calls: number; reset: number }>()
  return (key: string | undefined) => {
    let window = windows.get(key)
    if (window === undefined || (window.calls >= limit && now() >= window.reset * 1000)) {
      window = { calls: 0, reset: 0 }
      windows.set(key, window)
    }
    window.calls += 1
    if (window.calls <= limit) window.reset = Math.ceil(now() / 1000 + seconds)
    const headers = {
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(Math.max(0, limit - window.calls)),
      'x-ratelimit-reset': String(window.reset),
    }
    if (window.calls <= limit) return { headers }
    const retryAfter = String(Math.ceil(window.reset - now() / 1000))
    return { headers, refusal: textAnswer(429, 'the rate limit is reached', { 'retry-after': retryAfter }) }
  }
}
