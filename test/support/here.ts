/** Commands in the process of the tests, where one of their own makes no difference: it takes seven times as long. */

import { Report } from '../../src/cli/report.ts'
import { exitCode, Failure } from '../../src/failure.ts'
import { fetchProfiles } from '../../src/fetch/fetch.ts'
import type { Level } from '../../src/words.ts'

interface Order {
  url: string
  apiKey: string
  directory: string
  count?: number
  stock?: number
  /** How often `-v` is given. */
  verbosity?: Level
  /** Ctrl-C. */
  stop?: AbortSignal
  /** Called with each line. */
  onLine?: (line: string) => void
  /** Gets what shows how far it is. */
  follow?: (line: () => string) => void
}

const never = new AbortController().signal

/** Does what `softsim fetch` does when it knows its options. */
export async function fetchHere({ verbosity = 0, stop = never, onLine, count = 1, ...more }: Order) {
  const { follow = () => {}, ...order } = more
  let stderr = ''
  const report = new Report((text) => {
    stderr += text
    onLine?.(text)
  })
  report.level = verbosity
  report.hide(order.apiKey)
  const progress = { follow, end() {} }
  try {
    await fetchProfiles({ ...order, count, version: '1.0.0', messages: report, progress, stop, abort: never })
    return { code: exitCode('done'), stderr }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    report.failure(error)
    return { code: exitCode(error.outcome), stderr }
  }
}
