/** What may happen between a move that was interrupted and the same command again. */
import { mkdirSync, readdirSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { printedIn, run, start } from '../program.ts'
import { look } from '../sight.ts'
import { type Pair, saidDone } from './pair.ts'

const LATEST_KILL_MS = 300

/** @returns what to count; whether the move is done */
type Interlude = (pair: Pair) => Promise<{ what: string; isDone: boolean }>

export const INTERLUDES: readonly Interlude[] = [again, stations, wrongStick, backWithoutStick, onward]

async function again() {
  return { what: 'the same command again', isDone: false }
}

/** What is printed in the source stays there. */
async function stations({ works, ledger, source, target }: Pair) {
  for (const each of [source, target]) ledger.print(printedIn((await works.next(each)).stdout))
  return { what: 'stations go on', isDone: false }
}

/** Nothing goes to another stick at the same place, unless nothing was claimed for the first one. */
async function wrongStick(pair: Pair) {
  const hadClaims = (await pair.inTransit()) > 0
  const place = dirname(pair.target)
  renameSync(place, `${place}-away`)
  mkdirSync(place)
  const other = await run(pair.line())
  const isDone = saidDone(other)
  if (isDone && hadClaims) pair.ledger.problems.add('a move in transit went to another stick')
  if (!isDone && (!/is another one now/.test(other.stderr) || readdirSync(place).length > 0))
    pair.ledger.problems.add(`on another stick, move ended with ${other.code}: ${other.stderr}`)
  renameSync(place, `${place}-other`)
  renameSync(`${place}-away`, place)
  pair.others.push(join(`${place}-other`, 'profiles'))
  return { what: `another stick ${isDone ? 'where nothing was claimed' : 'is refused'}`, isDone }
}

/** All profiles come home, or none. */
async function backWithoutStick(pair: Pair) {
  const { source, target, ledger } = pair
  const place = dirname(target)
  renameSync(place, `${place}-away`)
  const { code, stderr } = await run(['move', '--back', '-i', source, '-o', target])
  renameSync(`${place}-away`, place)
  const transit = await pair.inTransit()
  const isHome = code === 0
  if (isHome && ledger.kept.difference(look(source).unused).size > 0)
    ledger.problems.add(`taken back, and not all are unused: ${stderr}`)
  if (isHome && look(target).unused.size > 0) ledger.problems.add('taken back, and the stick has some')
  if (!isHome && (code !== 3 || (transit === 0 && !/no interrupted move/.test(stderr))))
    ledger.problems.add(`move --back ended with ${code}: ${stderr}`)
  const what = isHome ? 'took all' : transit > 0 ? 'was refused' : 'found nothing'
  return { what: `--back without the stick ${what}`, isDone: false }
}

/** What the second directory has goes on to a third one, by a move that is killed and run again. */
async function onward({ works, target, others, ledger }: Pair) {
  const third = works.newPath()
  const line = ['move', '--all', '-i', target, '-o', third]
  const first = start(line)
  await sleep(works.random.whole(0, LATEST_KILL_MS))
  first.signal('SIGKILL')
  await first.ended
  const { code, stderr } = await run(line)
  if (code !== 0 && code !== 3) ledger.problems.add(`the move onward ended with ${code}: ${stderr}`)
  others.push(third)
  return { what: 'its profiles moved on to a third directory', isDone: false }
}
