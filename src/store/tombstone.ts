/** The used file of a profile that was moved away. */
import { fieldsOf } from './json-fields.ts'
import { byUs } from './station.ts'

/** What the used file of a profile says that a move has claimed. */
export interface Tombstone {
  /** Which move it is. */
  readonly move: string
  /** The path of the other directory. */
  readonly to: string
  /** As it was stored. */
  readonly profile: { readonly iccid: string; readonly profile: string; readonly from?: string }
}

/** What the used file of a profile says that a move claims. */
export const tombstoneText = (
  { id }: { readonly id: string },
  to: string,
  { name, stored }: { readonly name: string; readonly stored: string },
  by = byUs(),
) =>
  JSON.stringify({
    move: id,
    to,
    ...by,
    file: name,
    moved: fieldsOf(stored),
  })

/** It becomes a file name, so it is checked. */
const MOVE = /^[0-9a-f-]{36}$/

/** The tombstone that a file is. Its fields are not those of a profile, so that version 1.1 calls it damaged. */
export function tombstoneIn(text: string): Tombstone | undefined {
  const { move, to, moved } = fieldsOf(text)
  if (typeof move !== 'string' || !MOVE.test(move) || typeof to !== 'string') return undefined
  const { iccid, profile, from } = (moved ?? {}) as Record<string, unknown>
  if (typeof iccid !== 'string' || typeof profile !== 'string') return undefined
  return { move, to, profile: { iccid, profile, ...(typeof from === 'string' ? { from } : {}) } }
}
