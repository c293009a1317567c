/**
 * Removes what killed calls have left and nobody reads, once it is an hour old by the clock of its file server. A call may
 * have slept for that long, so each name is replaced by another one before anything in it goes: who wakes up finds nothing,
 * and begins again.
 */
import { lstatSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { ifPossible } from '../failure.ts'
import { type Messages, several } from '../words.ts'
import { namesIn, read, remove, removeEmpty, rename, withScratch } from './files.ts'
import type { Listing } from './listing.ts'
import * as names from './names.ts'

const OLD_MS = 3_600_000

/** @throws the system error */
export function removeRubbish(
  directory: string,
  { others, held }: Pick<Listing, 'others' | 'held'>,
  messages: Pick<Messages, 'warn'>,
): void {
  // Strictly: a directory that is away for a moment does not say that nothing is open.
  const open = new Set(others.includes(names.INCOMING) ? readdirSync(join(directory, names.INCOMING)) : [])
  const tags = new Set(held.map(({ tag }) => tag))
  const left = others.filter((name) => {
    const id = names.stagedFor(name)
    const tag = names.draftTag(name) ?? names.decisionTag(name)
    if (id !== undefined) return !open.has(id)
    if (tag !== undefined) return !tags.has(tag)
    return name.startsWith(`${names.FREE_LIST}~`)
  })
  const paths = left.map((name) => names.pathIn(directory, name))
  for (const place of [names.CLAIMS, names.DEVICES, names.INCOMING].map((name) => join(directory, name)))
    for (const name of namesIn(place))
      if (basename(place) === names.CLAIMS ? /^(~|\d+(~|$))/.test(name) : name.startsWith('~'))
        paths.push(join(place, name))
  if (paths.length === 0) return
  // As the file server sees it: the time of a file made just now.
  const now = withScratch(directory, timeOf)
  for (const path of paths) if (now - timeOf(path) > OLD_MS) removeUnder(directory, path, messages)
}

/** In milliseconds since 1970; of what is gone, nobody can say that it is old, nor what the time is. */
const timeOf = (path: string): number => lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.NaN

/** Takes it away under a name that nobody knows. */
function removeUnder(directory: string, path: string, messages: Pick<Messages, 'warn'>): void {
  const place = dirname(path)
  const to = join(place, `${place === directory ? '.' : ''}~${names.newTag()}`)
  ifPossible(() => {
    // An empty directory is what is left of a claim that was voided. A text is nobody's rubbish.
    if (names.decisionTag(basename(path)) !== undefined) removeEmpty(path)
    else if (rename(path, to)) empty(to, messages)
  })
}

function empty(path: string, messages: Pick<Messages, 'warn'>): void {
  if (!lstatSync(path).isDirectory()) return void remove(path)
  const { count, time, station } = names.fieldsOf(read(join(path, 'request')))
  if (typeof count === 'number')
    messages.warn(
      `a request for ${several(count, 'profile')} of ${time} (station ${station}) has no answer: they may be paid for and lost; ask the service provider`,
    )
  for (const name of namesIn(path)) empty(join(path, name), messages)
  removeEmpty(path)
}
