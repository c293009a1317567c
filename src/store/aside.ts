/** What `restore` does with what a backup has brought. Until it ends, no other call uses the directory. */
import type { Messages } from '../words.ts'
import type { By } from './claims.ts'
import * as files from './files.ts'
import { listHeld, look } from './listing.ts'
import { asideName, DEVICES, newTag, pathIn, placesOf, usedName } from './names.ts'
import { readUsed } from './state.ts'

/** Makes durable what another program has unpacked, and can be read: profiles, and the records of devices. */
export async function flushBackup(directory: string): Promise<void> {
  const { unused, used, aside } = look(directory)
  const all = [...unused, ...used.map(usedName), ...aside.map(asideName)]
  const names = all.filter((name) => typeof readUsed(directory, name) !== 'string')
  const devices = files.make(pathIn(directory, DEVICES))
  const ours = (place: string) => files.namesIn(place).filter((name) => /^r?[0-9a-f]+(-|$)/.test(name))
  const places = ours(devices).map((name) => pathIn(devices, name))
  const paths = places.flatMap((place) => ours(place).map((name) => pathIn(place, name)))
  await files.flushFiles([...names.map((name) => pathIn(directory, name)), ...paths])
  await files.flushDirectories([...places, devices, directory])
}

/**
 * Puts profiles aside, unused ones and held ones, so that nobody hands them out. It is not durable yet.
 * @param names X of each
 */
export function putAside(directory: string, names: readonly string[]): void {
  const held = Map.groupBy(listHeld(directory), ({ name }) => name)
  for (const name of names) {
    const aside = pathIn(directory, asideName(name))
    const own = (held.get(name) ?? []).map((each) => placesOf(directory, each).held)
    // A backup that keeps what was removed has several. Beside a used file, each is rubbish.
    for (const from of [...own, pathIn(directory, name), aside])
      if (files.exists(pathIn(directory, usedName(name)))) files.remove(from)
      else if (from !== aside) files.rename(from, aside)
  }
}

/**
 * Makes profiles used that are aside; damaged ones stay there. No record is made.
 * @param all X of each, and who has it
 */
export async function adoptUsed(
  directory: string,
  all: readonly (By & { readonly name: string })[],
  messages: Pick<Messages, 'warn'>,
): Promise<void> {
  const drafts = new Map<string, string>()
  for (const { name, ...by } of all) {
    const stored = readUsed(directory, asideName(name))
    const claim = newTag()
    const draft = pathIn(directory, `.~${claim}`)
    if (typeof stored === 'string') messages.warn(`${name} is damaged, and stays aside`)
    else {
      files.write(draft, JSON.stringify({ ...stored, ...by, claim }))
      drafts.set(name, draft)
    }
  }
  await files.flushFiles([...drafts.values()])
  // A used file is never replaced.
  for (const [name, draft] of drafts)
    if (files.exists(pathIn(directory, usedName(name)))) files.remove(draft)
    else files.rename(draft, pathIn(directory, usedName(name)))
  files.flushDirectory(directory)
  // What is aside beside a used file goes.
  putAside(directory, [...drafts.keys()])
}
