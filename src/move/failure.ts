import { Failure, reasonOf } from '../failure.ts'

/** What a user is told of an error of a disk. */
export function failureOf(error: unknown, { source, target }: { source: string; target: string }): Failure {
  if (error instanceof Failure) return error
  return new Failure(
    'not-recorded',
    `can't move profiles from ${source} to ${target}: ${reasonOf(error)}`,
    error,
  )
}
