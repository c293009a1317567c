/** A download from a service that a test makes up, into memory. */
import { type Download, download, type Parts, viewOf } from '../../src/fetch/download.ts'
import { CallFailure } from '../../src/service/call-failure.ts'
import type { Batch } from '../../src/service/response.ts'

const NO_LIMIT = { remaining: undefined, waitMs: undefined }

let made = 0
const entry = () => ({ iccid: String(++made), profile: 'AAAA' })

/** An answer with so many profiles, and with other entries, over a fast line. */
export const answerOf = (profiles: number, refused = 0): Batch => ({
  profiles: Array.from({ length: profiles }, entry),
  refused: Array.from({ length: refused }, (_, at) => `entry ${at + 1}`),
  ...{ body: Buffer.alloc(0), bodyMs: 1, totalMs: 1, limit: NO_LIMIT },
})

/** What the service answers to a request for so many profiles. */
export type Service = (size: number, call: number) => number | Batch | CallFailure | Promise<Batch>

interface Changes extends Partial<Parts['intake']>, Partial<Pick<Parts, 'stop' | 'abort'>> {
  /** How many profiles the line brings a second. */
  readonly perSecond?: number
}

/** A download of so many profiles; `asked` has the number that each request asks for. */
export function downloadOf(count: number, service: Service, { perSecond = 1e6, ...changes }: Changes = {}) {
  const asked: number[] = []
  const said: string[] = []
  const reserves = new Set<string>()
  const seen = { kept: 0, underWay: 0, mostUnderWay: 0, mostReserved: 0 }
  const never = new AbortController().signal
  const parts: Parts = {
    count,
    stop: changes.stop ?? never,
    abort: changes.abort ?? never,
    view: viewOf(count, { stored: 0 }, { warn: () => {}, tell: (_, text) => void said.push(text) }, () => {}),
    client: {
      async ask(size) {
        const call = asked.push(size)
        seen.mostUnderWay = Math.max(seen.mostUnderWay, ++seen.underWay)
        try {
          await new Promise(setImmediate)
          const bodyMs = ((size * seen.underWay) / perSecond) * 1000
          const answer = await service(size, call)
          if (answer instanceof CallFailure) throw answer
          if (typeof answer !== 'number') return answer
          const limit = { remaining: 600 - call, waitMs: 60_000 }
          return { ...answerOf(answer), bodyMs, totalMs: bodyMs, limit }
        } finally {
          seen.underWay--
        }
      },
    },
    intake: {
      async reserve() {
        const name = `reserve ${++made}`
        seen.mostReserved = Math.max(seen.mostReserved, reserves.add(name).size)
        return name
      },
      release: (name) => void reserves.delete(name),
      async keep(profiles, name) {
        reserves.delete(name)
        seen.kept += profiles.length
        return profiles.length
      },
      async keepUnread() {},
      ...changes,
    },
  }
  return {
    asked,
    /** What a user is told. */
    said,
    run: (): Promise<Download> => download(parts),
    kept: () => seen.kept,
    mostUnderWay: () => seen.mostUnderWay,
    /** Reserves that are neither filled nor given back. */
    reserved: () => reserves.size,
    mostReserved: () => seen.mostReserved,
  }
}
