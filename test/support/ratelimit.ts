import { textAnswer } from './answers.ts'

/** A fixed window for each API key; its end is a whole second, as the header can tell no other. */
export function rateLimit(limit: number, seconds: number, now: () => number) {
  const windows = new Map<string | undefined, { calls: number; reset: number }>()
  return (key: string | undefined) => {
    let window = windows.get(key)
    if (window === undefined || now() >= window.reset * 1000) {
      window = { calls: 0, reset: Math.ceil(now() / 1000 + seconds) }
      windows.set(key, window)
    }
    window.calls += 1
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
