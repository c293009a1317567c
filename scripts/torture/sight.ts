/** A profile directory seen with eyes of its own: nothing here is taken from the program. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A ciphertext of a 4096-bit key in base64. */
const CIPHERTEXT = /^[A-Za-z0-9+/]{683}=$/

export interface Sight {
  /** Without those beside a used file, which are rubbish. */
  readonly unused: Set<string>
  readonly used: Set<string>
  /** Out of the sight of other calls: held by a call or by a move. */
  readonly held: Set<string>
  /** Files that have a profile's name and do not hold it. */
  readonly torn: string[]
  /** Answers and orders of moves that are not finished. */
  readonly open: string[]
  /** What is on its way in. */
  readonly coming: Set<string>
  /** Answers of which is decided what comes: they are flushed by then. */
  readonly decided: Set<string>
}

/** What there is in a directory; nothing where there is no directory. */
export function look(directory: string): Sight {
  const names = namesIn(directory)
  const iccidsIn = (pattern: RegExp) => new Set(names.flatMap((name) => pattern.exec(name)?.[1] ?? []))
  const used = iccidsIn(/^__(\d{18,20})\.json$/)
  const sight = {
    used,
    unused: iccidsIn(/^(\d{18,20})\.json$/).difference(used),
    held: iccidsIn(/^\.(\d{18,20})\.json~/),
    torn: names.filter((name) => {
      const [, iccid] = /^(?:__)?(\d{18,20})\.json$/.exec(name) ?? []
      return iccid !== undefined && iccidIn(readOf(join(directory, name)) ?? '{}') !== iccid
    }),
    open: [] as string[],
    coming: iccidsIn(/@.*~(\d{18,20})\.json$/),
    decided: new Set<string>(),
  }
  const incoming = join(directory, '.incoming')
  for (const id of namesIn(incoming)) {
    if (!/^[0-9a-f]/.test(id)) continue
    sight.open.push(id)
    const isDecided = namesIn(join(incoming, id)).includes('given')
    for (const line of (readOf(join(incoming, id, 'answer')) ?? '').split('\n')) {
      const iccid = iccidIn(line)
      if (iccid === undefined) continue
      for (const which of isDecided ? [sight.coming, sight.decided] : [sight.coming]) which.add(iccid)
    }
  }
  return sight
}

const namesIn = (directory: string) => attempt(() => readdirSync(directory)) ?? []
const readOf = (path: string) => attempt(() => readFileSync(path, 'utf8'))

function iccidIn(text: string): string | undefined {
  const { iccid, profile } = attempt(() => Object(JSON.parse(text))) ?? {}
  return typeof profile === 'string' && CIPHERTEXT.test(profile) ? iccid : undefined
}

/** It may be gone, or have another name, by the time it is read. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
