import { Failure } from '../../failure.ts'
import { countReceived } from '../../store/incoming/answers.ts'
import { whereElse } from '../../store/read.ts'
import { several } from '../../words.ts'

/** Too few profiles can be handed out. The files that were skipped explain why. */
export class Shortage extends Failure {}

interface Found {
  readonly count: number
  readonly usable: number
  readonly skipped: number
  /** Whether other programs have all of them open. */
  readonly isHeld: boolean
  readonly used: number
  readonly unfinished: number
}

/** What a call says that finds too few profiles. */
export function shortage(
  directory: string,
  { count, usable, skipped, isHeld, used, unfinished }: Found,
): Shortage {
  if (usable > 0) {
    return new Shortage(
      'no-profiles',
      `at most ${usable} of ${count} requested profiles are available in ${directory}`,
      {
        hint: 'softsim status -k counts those that can be used; take fewer, or fetch more; nothing was claimed',
      },
    )
  }
  if (skipped === 0) {
    return new Shortage('no-profiles', `no unused profile in ${directory}`, {
      hint: whyNone(directory, used, unfinished),
    })
  }
  if (countReceived(directory) > 0) {
    return new Shortage('no-profiles', `no unused profile in ${directory} can be used yet`, {
      hint: whyNone(directory, used, unfinished),
    })
  }
  if (isHeld) {
    return new Shortage('disk', `other programs have all unused profiles in ${directory} open`, {
      hint: 'close them, or exclude the directory from virus scans and backups; nothing was claimed',
    })
  }
  return new Shortage('unusable', `none of the unused profiles in ${directory} can be used`, {
    hint: 'see the warning for each file; nothing was claimed',
  })
}

function whyNone(directory: string, used: number, unfinished: number): string {
  const received = countReceived(directory)
  if (received > 0) {
    return `${several(received, 'profile')} of a running or interrupted fetch will be stored: when it ends, or ten minutes after it was interrupted, by the next call`
  }
  if (unfinished > 0) {
    return `other calls have not finished ${several(unfinished, 'claim')}: run the same command again, after a minute if a call was killed`
  }
  return used > 0 ? 'all profiles in it are used; fetch more: see softsim help fetch' : whereElse(directory)
}
