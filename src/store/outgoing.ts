/** Where the moves go that have begun in a directory, for a person, and for whoever finishes them. */
import { join } from 'node:path'
import { errnoOf } from '../failure.ts'
import * as files from './files.ts'
import { OUTGOING } from './names.ts'

/** A move out of a directory that is not finished. */
export interface Outgoing {
  /** The identity of the target, a dot, and a tag. */
  readonly id: string
  /** The full path of the target, as the call saw it. */
  readonly to: string
}

const pathOf = (directory: string, id: string) => join(directory, OUTGOING, id)

/** Notes where a move goes, also if a killed call has left its note empty. It is durable then. */
export function noteTarget(directory: string, { id, to }: Outgoing): void {
  const path = pathOf(directory, id)
  files.make(join(directory, OUTGOING))
  try {
    if (!files.exists(path) || (files.read(path) === '' && files.remove(path))) files.write(path, to)
    files.flushFile(path)
  } catch (error) {
    // Somebody else was first, and may have finished the move.
    if (errnoOf(error) !== 'EEXIST' && !files.isGone(error)) throw error
  }
  files.flushDirectory(join(directory, OUTGOING))
}

/** Begins the name of a note whose move was given up, because its target is lost. */
const GIVEN_UP = '-'

/** Says that a move was given up: it must never be finished. It is durable then. */
export function giveUp(directory: string, id: string): void {
  files.rename(pathOf(directory, id), pathOf(directory, GIVEN_UP + id))
  files.flushDirectory(join(directory, OUTGOING))
}

export const isGivenUp = (directory: string, id: string): boolean =>
  files.exists(pathOf(directory, GIVEN_UP + id))

export const removeNote = (directory: string, id: string): boolean => files.remove(pathOf(directory, id))

export const outgoingIn = (directory: string): Outgoing[] =>
  files
    .namesIn(join(directory, OUTGOING))
    .filter((id) => /^[0-9a-f]+\.[0-9a-f]+$/.test(id))
    .flatMap((id) => {
      const to = files.read(pathOf(directory, id))
      return to === undefined ? [] : { id, to }
    })
