import type { Report } from './report.ts'
import { recover } from './store/recover.ts'
import { several } from './words.ts'

/**
 * Stores what interrupted fetches received and could not store any more, and tells of it.
 * @throws {Failure} `disk`
 */
export async function finishFetches(directory: string, report: Report): Promise<void> {
  const recovered = await recover(directory)
  if (recovered === undefined) return
  report.tell(0, `finished an interrupted fetch: ${several(recovered.stored.length, 'profile')} stored`)
  for (const path of recovered.damaged ?? []) {
    report.warn(`not all of what it received can be read; what is left is in ${path}`)
  }
}
