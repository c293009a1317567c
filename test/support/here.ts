/** Commands in the process of the tests, where one of their own makes no difference: it takes seven times as long. */
import { adviceOn } from '../../src/advice/advice.ts'
import { exitCode } from '../../src/advice/exit-codes.ts'
import { Report } from '../../src/cli/report.ts'
import { fetchProfiles } from '../../src/fetch/fetch.ts'
import type { Level } from '../../src/words.ts'

interface Order {
  url: string
  apiKey: string
  directory: string
  count?: number
  /** How often `-v` is given. */
  verbosity?: Level
}

/** Does what `softsim fetch` does when it knows its options. */
export async function fetchHere({ count = 1, verbosity = 0, ...order }: Order) {
  let stderr = ''
  const report = new Report((text) => {
    stderr += text
  })
  report.level = verbosity
  report.hide(order.apiKey)
  const { signal } = new AbortController()
  const progress = { follow() {}, note() {}, end() {} }
  try {
    const usual = { version: '1.0.0', messages: report, progress, stop: signal, abort: signal }
    await fetchProfiles({ ...order, count, ...usual })
    return { code: exitCode('done'), stderr }
  } catch (error) {
    const advice = adviceOn(error)
    report.failure(advice, error)
    return { code: exitCode(advice.outcome), stderr }
  }
}
