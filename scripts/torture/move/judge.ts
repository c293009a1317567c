/** Where the profiles of a move are, seen with eyes of its own. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { printedIn, run } from '../program.ts'
import { claimsIn, look } from '../sight.ts'
import type { Works } from '../works.ts'
import type { Pair } from './pair.ts'

/** One try to break a move. */
export interface Trial {
  readonly works: Works
  readonly pair: Pair
  /** What the source had before, or had received. */
  readonly had: ReadonlySet<string>
  /** Directories to which profiles may have gone besides. */
  readonly others: string[]
  readonly printed: string[]
  /** Printed in the source. */
  readonly stayed: Set<string>
  readonly problems: string[]
}

export function trialOf(works: Works, pair: Pair): Trial {
  const { unused, asides } = look(pair.source)
  const had = new Set([...unused, ...asides.flatMap(({ iccids }) => iccids)])
  return { works, pair, had, others: [], printed: [], stayed: new Set(), problems: [] }
}

/** Prints what there is to print in a directory. */
export async function handOut(trial: Trial, directory: string, ...options: string[]): Promise<string[]> {
  const printed = printedIn((await trial.works.next(directory, ...options)).stdout)
  trial.printed.push(...printed)
  if (directory === trial.pair.source) for (const each of printed) trial.stayed.add(each)
  return printed
}

/** Those that a move has claimed that is not closed. Of what has come back, the next number is there. */
export function inTransit(source: string): Set<string> {
  const names = namesIn(source)
  const used = names.map((name) => [name, readIfThere(join(source, name))] as const)
  const open = new Set(namesIn(join(source, '.moves')))
  return new Set(
    [...claimsIn(source), ...used].flatMap(([name, text]) => {
      const [, iccid, number = '1'] = /^__(\d+)(?:\.(\d+))?\.json$/.exec(name) ?? []
      const isBack = names.some((each) => each.endsWith(`${iccid}.${Number(number) + 1}.json`))
      return iccid !== undefined && !isBack && open.has(String(parse(text)?.move)) ? [iccid] : []
    }),
  )
}

/** Each profile is in one directory or in transit, whatever has just happened; and `status` says how many are. */
export async function checkPlaces({ pair, had, problems }: Trial): Promise<void> {
  const [source, target] = [look(pair.source), look(pair.target)]
  const transit = inTransit(pair.source)
  const received = new Set(target.asides.flatMap(({ iccids }) => iccids))
  const waits = new Set(source.asides.flatMap(({ iccids }) => iccids))
  const has = (iccid: string) =>
    (target.unused.has(iccid) && !target.torn.includes(`${iccid}.json`)) ||
    target.used.has(iccid) ||
    received.has(iccid)
  const tell = (what: string, wrong: (iccid: string) => boolean) => {
    const which = [...had].filter(wrong)
    if (which.length > 0) problems.push(`${what}: ${which.join(', ')}`)
  }
  tell('unused here, and there', (each) => source.unused.has(each) && !source.used.has(each) && has(each))
  tell('nowhere', (each) => !source.unused.has(each) && !waits.has(each) && !transit.has(each) && !has(each))
  const { stdout } = await run(['status', '-i', pair.source, '--format=json'])
  const { inTransit: given, unfinished } = JSON.parse(stdout || '{}')
  if (given + unfinished !== transit.size)
    problems.push(`status does not count ${transit.size} in transit: ${stdout}`)
}

/** Everything is handed out, each profile once. `count` left the source, if that is certain. */
export async function checkEnd(trial: Trial, count?: number): Promise<void> {
  const { pair, had, stayed, printed, problems } = trial
  const places = [pair.source, pair.target, ...trial.others]
  for (const each of places) await handOutAll(trial, each)
  const left = [...had].filter((iccid) => !stayed.has(iccid))
  if (count !== undefined && left.length !== count) problems.push(`${left.length} moved, not ${count}`)
  problems.push(...wrong(printed, [...had]), ...wrongReceipts(pair.receipt, left, count !== undefined))
}

/** What is received and not stored is there after the first of these calls. */
export async function handOutAll(trial: Trial, directory: string): Promise<void> {
  for (;;) {
    const { unused, used, asides } = look(directory)
    const count = [...unused].filter((each) => !used.has(each)).length
    if (count + asides.length === 0) return
    if ((await handOut(trial, directory, '-n', String(Math.max(1, count)))).length === 0) return
  }
}

export function wrong(printed: readonly string[], wanted: readonly string[]): string[] {
  const twice = printed.filter((iccid, at) => printed.indexOf(iccid) !== at)
  const lost = wanted.filter((iccid) => !printed.includes(iccid))
  return [
    ...(twice.length > 0 ? [`printed twice: ${twice.join(', ')}`] : []),
    ...(lost.length > 0 ? [`lost: ${lost.join(', ')}`] : []),
  ]
}

/**
 * Each profile that left has a receipt, and no other has one.
 * @param isAlone no two moves ran at once: both may say then that they were the first to give a profile
 */
export function wrongReceipts(path: string, left: readonly string[], isAlone: boolean): string[] {
  const entries = readIfThere(path)
    .split('\n')
    .flatMap((line) => parse(line) ?? [])
  const named = new Set(entries.map(({ iccid }) => iccid))
  const firsts = entries.filter(({ again }) => isAlone && again === false).map(({ iccid }) => iccid)
  const say = (what: string, which: readonly unknown[]) =>
    which.length > 0 ? [`${what}: ${which.join(', ')}`] : []
  return [
    ...say(
      'moved without a receipt',
      left.filter((iccid) => !named.has(iccid)),
    ),
    ...say(
      'a receipt, and not moved',
      [...named].filter((iccid) => !left.includes(iccid ?? '')),
    ),
    ...say(
      'two first receipts',
      firsts.filter((iccid, at) => firsts.indexOf(iccid) !== at),
    ),
  ]
}

interface Line {
  readonly move?: unknown
  readonly iccid?: string
  readonly again?: boolean
}

function parse(text: string): Line | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}
