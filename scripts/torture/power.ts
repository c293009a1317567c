/** Cuts the power under calls of `fetch`, `next` and `move`, and looks at what the disk kept. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Crew } from './crew.ts'
import { JOURNALED, overImages, type Stick } from './image.ts'
import { printedIn } from './program.ts'
import { look } from './sight.ts'
import type { Works } from './works.ts'

const CUTS_AN_IMAGE = 15

const EARLIEST_CUT_MS = 30
const LATEST_CUT_MS = 1500

/** Of the devices that have a profile, after each cut. */
const REPEATED = 3

/** How many profiles the calls of `next` find, at least, when they begin. */
const STOCK = 40

/** Cuts the power again and again until the time is over, on each kind of file system in turn. */
export const power = (works: Works, until: number) =>
  overImages(works, { until, most: CUTS_AN_IMAGE, kinds: JOURNALED }, async (stick) => {
    const { image, directory, apart, ledger } = stick
    const crew = new Crew(works, ledger)
    await cutUnderWork(stick, crew)
    works.tally.add(`power cuts on ${image.kind}`)
    ledger.check([directory, apart], false)
    image.endIfBroken('before any other call', ledger)
    // Whatever was interrupted is finished by the next call, without being asked.
    const run = await works.next(directory)
    if (run.code !== 0 && run.code !== 3)
      ledger.problems.add(`after the cut next ended with ${run.code}: ${run.stderr}`)
    ledger.print(printedIn(run.stdout))
    for (const device of works.random.shuffled([...ledger.devices.keys()]).slice(0, REPEATED)) {
      const again = await works.next(directory, '--device', device)
      if (again.code !== 0)
        ledger.problems.add(`device ${device} got nothing again: ${again.code}, ${again.stderr}`)
      ledger.printFor(device, printedIn(again.stdout))
      works.tally.add('devices named again after a cut')
    }
    crew.isCut = false
    await crew.finishMoves([directory, apart])
    // What a call has decided is finished by its device, or by a call that finds too few.
    const short = await works.next(directory, '-n', String(look(directory).unused.size + 100))
    if (short.code !== 3) ledger.problems.add(`too many were asked for: ${short.code}: ${short.stderr}`)
    ledger.checkFinished([directory, apart])
    image.endIfBroken('after the next call', ledger)
  })

/** Stations, a fetch and a move at work, until the power is cut and what is left is mounted again. */
async function cutUnderWork(
  { works: { random }, image, directory, apart }: Stick,
  crew: Crew,
): Promise<void> {
  await crew.stock(directory, STOCK)
  const busy = [
    ...[1, 2].map(() => crew.station(directory, { forDevices: 0.4 })),
    crew.fetching(directory, { many: 0.3 }),
    crew.moving([directory, apart]),
  ]
  await sleep(random.whole(EARLIEST_CUT_MS, LATEST_CUT_MS))
  crew.isCut = true
  crew.signal('SIGSTOP')
  crew.keepPublished(directory)
  await image.pull(() => {
    crew.signal('SIGKILL')
    return Promise.all(busy)
  })
}
