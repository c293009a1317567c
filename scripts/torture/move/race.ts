/** Two moves at once, again and again, beside stations in both directories and a fetch; some of them are killed. */
import { mkdirSync } from 'node:fs'
import { Crew } from '../crew.ts'
import { run, start } from '../program.ts'
import { look } from '../sight.ts'
import type { Tally } from '../tally.ts'
import type { Works } from '../works.ts'
import type { Pair } from './pair.ts'

const PROFILES = 150
const MOVED = 30

/** @throws {Violation} */
export async function raceMoves(works: Works, tally: Tally, pair: Pair): Promise<void> {
  const { source, target, ledger } = pair
  await works.fetch(source, PROFILES)
  ledger.keep(look(source).unused)
  mkdirSync(target, { mode: 0o700 })
  const crew = new Crew(works, tally, ledger)
  const moving = async () => {
    for (let turn = 0; turn < 3; turn++) await crew.see(start(pair.line(MOVED)), { risk: 0.7 })
    await crew.see(start(pair.line(1)))
  }
  const others = [
    ...[source, source, target, target].map((each) => crew.station(each)),
    crew.fetching(source, { risk: 0.3 }),
  ]
  await Promise.all([moving(), moving()])
  crew.isOn = false
  crew.isCut = true
  await Promise.all(others)
  await run(['move', '--all', '-i', source, '-o', target, '--receipt', pair.receipt])
  await ledger.finish(works, pair.directories)
  pair.checkReceipts(false)
  tally.add('kills in a race of moves', crew.kills)
  tally.add(`races of two moves ${pair.name}`)
  pair.end('two at once')
}
