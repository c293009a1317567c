/** The schedules as a part of the long tests: on all processors, as long as there is time. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { type Tally, Violation } from '../tally.ts'
import type { Works } from '../works.ts'

const SEARCH = fileURLToPath(new URL('../schedule.ts', import.meta.url))

/** @throws {Violation} at the end; what was found is printed as soon as it is found */
export async function schedules(works: Works, tally: Tally, until: number): Promise<undefined> {
  const processes = availableParallelism()
  const minutes = String((until - performance.now()) / 60_000)
  const options = ['--minutes', minutes, '--seed', String(works.random.whole(1, 2 ** 31))]
  const search = async (index: number): Promise<number> => {
    const child = fork(SEARCH, ['--share', `${index}/${processes}`, ...options])
    child.on('message', (count: number) => tally.add('schedules', count))
    const stop = () => child.kill()
    process.once('exit', stop)
    const [code] = await once(child, 'close')
    process.off('exit', stop)
    return code
  }
  const codes = await Promise.all(Array.from({ length: processes }, (_, index) => search(index)))
  if (codes.some((code) => code !== 0)) throw new Violation('schedules violate a rule, or could not be run')
}
