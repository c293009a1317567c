import type { Report } from './cli/report.ts'
import { recover } from './store/incoming/recover.ts'
import { several } from './words.ts'

/**
 * Stores what interrupted fetches received and could not store any more, and tells of it.
 * @throws {Failure} `disk`
 */
export async function finishFetches(directory: string, report: Report): Promise<void> {
  const recovered = await recover(directory)
  if (recovered === undefined) return
  const { stored, known, damaged = [] } = recovered
  // It may have been interrupted before it had received anything.
  if (stored.length + known.length > 0) {
    report.tell(0, `finished an interrupted fetch: ${several(stored.length, 'profile')} stored`)
  }
  for (const path of damaged) {
    report.warn(`not all of what it received can be read; what is left is in ${path}`)
  }
}
