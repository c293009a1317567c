/** Cuts the power under calls of `fetch`, `next` and `move`, and looks at what the disk kept. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Crew } from './crew.ts'
import { type Image, overImages } from './image.ts'
import { Ledger } from './ledger.ts'
import { printedIn } from './program.ts'
import type { Tally } from './tally.ts'
import type { Works } from './works.ts'

/** A file system that lives through more cuts than this gets slow to look at. */
const CUTS_AN_IMAGE = 15

const EARLIEST_CUT_MS = 30
const LATEST_CUT_MS = 1500

/** Of the devices that have a profile, after each cut. */
const REPEATED = 3

/** How many profiles the calls of `next` find, at least, when they begin. */
const STOCK = 40

/** Cuts the power again and again until the time is over, on each kind of file system in turn. */
export async function power(works: Works, tally: Tally, until: number): Promise<undefined> {
  await overImages(works, until, async (image) => {
    const [ledger, apart] = [new Ledger(), works.newPath()]
    for (let cuts = 0; cuts < CUTS_AN_IMAGE && performance.now() < until; cuts++) {
      const directory = image.profiles
      const crew = new Crew(works, tally, ledger)
      await cutUnderWork(works, image, crew, apart)
      tally.add(`power cuts on ${image.kind}`)
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
        tally.add('devices named again after a cut')
      }
      crew.isCut = false
      await crew.finishMoves([directory, apart])
      ledger.checkFinished([directory, apart])
      image.endIfBroken('after the next call', ledger)
    }
  })
}

/** Stations, a fetch and a move at work, until the power is cut and what is left is mounted again. */
async function cutUnderWork({ random }: Works, image: Image, crew: Crew, apart: string): Promise<void> {
  const directory = image.profiles
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
