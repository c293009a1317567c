/** What may happen between a move that was killed and the same command again. */
import { mkdirSync, readdirSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { run } from '../program.ts'
import { look } from '../sight.ts'
import { handOut, inTransit, type Trial } from './judge.ts'
import { moveLine, saidDone, tracedMove } from './pair.ts'

/** A killed move on from the second directory ends at one of so many flushes. */
const FLUSHES = 25

/** @returns what to count; whether the move is done */
export type Interlude = (trial: Trial) => Promise<{ what: string; isDone: boolean }>

export const INTERLUDES: readonly Interlude[] = [again, stations, wrongStick, backWithoutStick, onward]

export async function again(_: Trial) {
  return { what: 'the same command again', isDone: false }
}

async function stations(trial: Trial) {
  for (const each of [trial.pair.source, trial.pair.target]) await handOut(trial, each)
  return { what: 'stations go on', isDone: false }
}

/** Nothing goes to another stick at the same place, unless nothing was claimed for the first one. */
async function wrongStick(trial: Trial) {
  const { pair, problems } = trial
  const hadClaims = inTransit(pair.source).size > 0
  const place = dirname(pair.target)
  renameSync(place, `${place}-away`)
  mkdirSync(place)
  const other = await run(moveLine(pair))
  const isDone = saidDone(other)
  if (isDone && hadClaims) problems.push('a move in transit went to another stick')
  if (!isDone && (!/is another one now/.test(other.stderr) || readdirSync(place).length > 0))
    problems.push(`on another stick, move ended with ${other.code}: ${other.stderr}`)
  renameSync(place, `${place}-other`)
  renameSync(`${place}-away`, place)
  trial.others.push(join(`${place}-other`, 'profiles'))
  return { what: `another stick ${isDone ? 'where nothing was claimed' : 'is refused'}`, isDone }
}

/** All profiles come home, or none. */
async function backWithoutStick({ pair, had, problems }: Trial) {
  const place = dirname(pair.target)
  renameSync(place, `${place}-away`)
  const back = await run(['move', '--back', '-i', pair.source, '-o', pair.target])
  renameSync(`${place}-away`, place)
  const transit = inTransit(pair.source).size
  const { unused, used } = look(pair.source)
  const isHome = back.code === 0
  if (isHome && [...had].some((each) => !unused.has(each) || used.has(each)))
    problems.push(`taken back, and not all are unused: ${back.stderr}`)
  if (isHome && look(pair.target).unused.size > 0) problems.push('taken back, and the stick has some')
  if (!isHome && (back.code !== 3 || (transit === 0 && !/no interrupted move/.test(back.stderr))))
    problems.push(`move --back ended with ${back.code}: ${back.stderr}`)
  const what = isHome ? 'took all' : transit > 0 ? 'was refused' : 'found nothing'
  return { what: `--back without the stick ${what}`, isDone: false }
}

/** What the second directory has goes on to a third one, by a move that is killed and run again. */
async function onward(trial: Trial) {
  const { works, pair, problems } = trial
  const third = works.newPath()
  const line = ['move', '--all', '-i', pair.target, '-o', third]
  const when = works.random.whole(1, FLUSHES)
  await run(line, tracedMove('/dev/null', { syscall: 'fsync', when, effect: 'signal=SIGKILL' }))
  const { code, stderr } = await run(line)
  if (code !== 0 && code !== 3) problems.push(`the move onward ended with ${code}: ${stderr}`)
  trial.others.push(third)
  return { what: 'its profiles moved on to a third directory', isDone: false }
}
