/** The most profiles one request may ask for. */
export const LARGEST_BATCH = 1000

/** The sizes of the requests that together ask for `count` profiles. */
export function plan(count: number): number[] {
  const full = Array.from({ length: Math.floor(count / LARGEST_BATCH) }, () => LARGEST_BATCH)
  const rest = count % LARGEST_BATCH
  return rest === 0 ? full : [...full, rest]
}
