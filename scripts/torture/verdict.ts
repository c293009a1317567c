/** What must hold after a call was killed or went wrong, and the next call has run. */
import { printedIn, type Run } from './program.ts'
import type { Scene } from './scenes.ts'
import { isOwnerAlive, look, ownersGone, type Sight } from './sight.ts'
import { type Call, isPutAside } from './trace.ts'
import type { Works } from './works.ts'

/** A call of the program, and what was seen before it and right after it. */
export interface Case {
  readonly scene: Scene
  readonly directory: string
  readonly before: Sight
  readonly run: Run
  readonly calls: readonly Call[]
  readonly after: Sight
  /** The profiles of each answer that the service has sent whole. */
  readonly answers: readonly string[][]
}

export interface Verdict {
  readonly problems: string[]
  /** Profiles that were claimed and never printed. */
  readonly stuck: string[]
  /** Profiles of answers that were delivered, and not yet put aside when it ended. */
  readonly unkept: string[]
  readonly printed: string[]
  /** Answers that wait, because their owner's number is another process's now. */
  readonly waiting: number
}

const FOLLOWING_CODES = [0, 3]

/** Runs the next call, sometimes of `fetch` and then of `next`, and looks at what has become of everything. */
export async function judge(works: Works, each: Case): Promise<Verdict> {
  const { scene, directory, before, run } = each
  const problems: string[] = []
  await ownersGone(directory)
  if (works.random.chance(0.3)) {
    const { code, stderr } = await works.fetch(directory, 1)
    if (code !== 0) problems.push(`the next fetch ended with ${code}: ${stderr}`)
  }
  const next = await works.next(directory, ...(scene.devices ?? []).flatMap((device) => ['--device', device]))
  if (!FOLLOWING_CODES.includes(next.code ?? -1)) {
    problems.push(`the next call ended with ${next.code}: ${next.stderr}`)
  }

  const now = look(directory)
  const first = printedIn(run.stdout)
  const second = printedIn(next.stdout)
  const printed = [...first, ...second]
  const wereUsed = first.filter((iccid) => before.used.has(iccid) && iccid !== scene.again)
  const isAgain = scene.devices !== undefined && next.code === 0
  const twice = isAgain ? [] : first.filter((iccid) => second.includes(iccid))
  if (isAgain && first.length > 0)
    tell(
      'another profile for the same device',
      first.filter((iccid, at) => iccid !== second[at]),
    )
  const waiting = now.asides.filter(isOwnerAlive)
  const isThere = (iccid: string) => now.unused.has(iccid) !== now.used.has(iccid)
  const waits = (iccid: string) => waiting.some(({ iccids }) => iccids.includes(iccid))
  const { kept, unkept } = sorted(each)

  tell('printed and was used before', wereUsed)
  tell('printed twice', twice)
  tell(
    'printed and is not marked used',
    printed.filter((iccid) => !now.used.has(iccid)),
  )
  tell(
    'is unused and used',
    [...now.unused].filter((iccid) => now.used.has(iccid)),
  )
  tell('is torn', now.torn)
  tell(
    'was there and is lost',
    [...before.unused, ...before.used].filter((iccid) => !isThere(iccid)),
  )
  tell(
    'was used and is not',
    [...before.used].filter((iccid) => !now.used.has(iccid)),
  )
  tell(
    'was put aside and is lost',
    kept.filter((iccid) => !isThere(iccid) && !waits(iccid)),
  )
  tell(
    'is still put aside',
    now.asides.filter((aside) => !waiting.includes(aside)).map(({ name }) => name),
  )

  const stuck = [...now.used].filter((iccid) => !before.used.has(iccid) && !printed.includes(iccid))
  if (scene.devices !== undefined) tell('is used up, and no device has it', stuck)
  else if (stuck.length > scene.takes) tell('was claimed beyond what was asked for', stuck)
  return {
    problems,
    stuck,
    unkept: unkept.filter((iccid) => !isThere(iccid)),
    printed,
    waiting: waiting.length,
  }

  function tell(what: string, which: readonly string[]): void {
    if (which.length > 0) problems.push(`${what}: ${which.join(', ')}`)
  }
}

/** The profiles that must not be lost: of all answers that were put aside, and what was put aside before. */
function sorted({ answers, after, before, calls }: Case): { kept: string[]; unkept: string[] } {
  const isKept = (iccid: string) =>
    after.unused.has(iccid) ||
    after.used.has(iccid) ||
    after.asides.some(({ isWhole, iccids }) => isWhole && iccids.includes(iccid)) ||
    calls.some(({ name, args }) => /^(link|rename)/.test(name) && args.includes(`/${iccid}.json`))
  const isAside = ([first = '']: readonly string[]) => isPutAside(calls, first)
  const whole = answers.map((iccids) => ({ iccids, is: isAside(iccids) || iccids.some(isKept) }))
  return {
    kept: [
      ...before.asides.flatMap(({ isWhole, iccids }) => (isWhole ? iccids : [])),
      ...whole.flatMap(({ iccids, is }) => (is ? iccids : [])),
    ],
    unkept: whole.flatMap(({ iccids, is }) => (is ? [] : iccids)),
  }
}
