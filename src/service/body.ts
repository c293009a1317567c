import { CallFailure } from './call-failure.ts'

/** A body that brings fewer bytes in so much time would not end; the slowest modem brings more. */
export interface LeastRate {
  readonly bytes: number
  readonly ms: number
}

const LONGEST_MESSAGE = 16 * 1024
/** Of a text that is cut off, the end could be the first half of a secret, which nobody would recognize. */
const DOUBTFUL = 4 * 1024

/**
 * The whole text of a body.
 * @throws {CallFailure} where there is more of it than `largest` bytes, or where it drips; the rest is not read
 */
export async function readText(
  body: AsyncIterable<Uint8Array>,
  largest: number,
  least: LeastRate,
): Promise<string> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of steady(body, least)) {
    size += part.length
    if (size > largest) {
      throw new CallFailure('the answer is larger than any answer to what was asked', {
        mayHaveAllocated: true,
      })
    }
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** The beginning of an error's text; what the line does to the rest of it makes no difference. */
export async function readStart(body: AsyncIterable<Uint8Array>, least: LeastRate): Promise<string> {
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
  const text = Buffer.concat(parts).toString('utf8')
  return isWhole ? text : text.slice(0, -DOUBTFUL)
}

/** Goes on as long as anything comes at all: to cut off an answer costs what was asked for. */
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
      throw new CallFailure('the answer drips and would not end', { isPassing: true, mayHaveAllocated: true })
    }
    began = now
    arrived = 0
  }
}
