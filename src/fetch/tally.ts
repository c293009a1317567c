import type { NotAdded } from '../store/incoming/add.ts'
import type { Added } from '../store/incoming/known.ts'
import { several } from '../words.ts'

export interface Tally {
  /** New, and stored under their names in the directory. */
  stored: number
  known: number
  /** Put aside; the next call stores them. */
  aside: number
  /** Not on any disk. */
  lost: number
  /** Entries of answers that are not profiles. */
  refused: number
}

export const NO_PROFILES: Readonly<Tally> = { stored: 0, known: 0, aside: 0, lost: 0, refused: 0 }

export function noteAdded(tally: Tally, { stored, known }: Added): void {
  tally.stored += stored.length
  tally.known += known.length
}

export function noteNotAdded(tally: Tally, { added, aside, lost }: NotAdded): void {
  noteAdded(tally, added)
  tally.aside += aside
  tally.lost += lost
}

export function summaryOf({ stored, aside, lost, refused }: Tally, count: number, directory: string): string {
  const what = stored < count ? `${stored} of ${several(count, 'profile')}` : several(stored, 'profile')
  const more = [
    aside > 0 ? `, ${aside} more put aside there` : '',
    lost > 0 ? `, ${lost} received but not stored` : '',
    refused > 0 ? `, ${refused} received that can't be used` : '',
  ]
  return `stored ${what} in ${directory}${more.join('')}`
}
