import { CallFailure } from './call-failure.ts'

/** A body that brings fewer bytes than this in this time is given up. Even the slowest modem is faster. */
export interface LeastRate {
  readonly bytes: number
  readonly ms: number
}

const LONGEST_MESSAGE = 16 * 1024
/** A truncated text may end with the first part of a secret, which would not be masked. */
const DOUBTFUL = 4 * 1024

/** @throws {CallFailure} if the body is larger than `largest` bytes or arrives too slowly; the rest is not read */
export async function readWhole(
  body: AsyncIterable<Uint8Array>,
  largest: number,
  least: LeastRate,
): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of steady(body, least)) {
    size += part.length
    if (size > largest) {
      throw new CallFailure('the answer is too large for the number of profiles requested', {
        mayHaveAllocated: true,
      })
    }
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** Reads the beginning of an error text. Connection errors do not matter here. */
export async function readStart(body: AsyncIterable<Uint8Array>, least: LeastRate): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let size = 0
  let isWhole = false
  try {
    for await (const part of steady(body, least)) {
      parts.push(part)
      size += part.length
      if (size > LONGEST_MESSAGE) break
    }
    isWhole = size <= LONGEST_MESSAGE
  } catch {}
  const bytes = Buffer.concat(parts)
  return isWhole ? bytes : bytes.subarray(0, -DOUBTFUL)
}

/** Stops only when almost nothing arrives: giving up an answer costs the profiles in it. */
async function* steady(
  body: AsyncIterable<Uint8Array>,
  { bytes, ms }: LeastRate,
): AsyncGenerator<Uint8Array> {
  let began = performance.now()
  let arrived = 0
  for await (const part of body) {
    yield part
    arrived += part.length
    const now = performance.now()
    if (now - began < ms) continue
    if (arrived < bytes) {
      throw new CallFailure('the answer arrives too slowly', { isPassing: true, mayHaveAllocated: true })
    }
    began = now
    arrived = 0
  }
}
