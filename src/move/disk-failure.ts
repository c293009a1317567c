import { sep } from 'node:path'
import { Failure, reasonOf } from '../failure.ts'

/** What a user is told of an error of a disk. */
export function failureOf(error: unknown, { source, target }: { source: string; target: string }): Failure {
  if (error instanceof Failure) return error
  const { path } = error as NodeJS.ErrnoException
  const where = [source, target].find((each) => path?.startsWith(each + sep))
  return new Failure(
    'not-recorded',
    `can't move profiles from ${source} to ${target}: ${where === undefined ? '' : `${where}: `}${reasonOf(error)}`,
    error,
  )
}
