/** Cuts the power under calls of `fetch` and `next`, and looks at what the disk kept. */
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Cut, Image, KINDS, whyNot } from './image.ts'
import { Ledger } from './ledger.ts'
import { printedIn, type Started } from './program.ts'
import { isOwnerAlive, look, ownersGone } from './sight.ts'
import { type Tally, Violation } from './tally.ts'
import { isPutAside, readCalls, traced } from './trace.ts'
import type { Works } from './works.ts'

/** A file system that lives through more cuts than this gets slow to look at. */
const CUTS_AN_IMAGE = 15

const EARLIEST_CUT_MS = 30
const LATEST_CUT_MS = 1500

/** So few that calls name the same device again. */
const DEVICES = 60

/** Of the devices that have a profile, after each cut. */
const REPEATED = 3

/** How many profiles the calls of `next` find, at least, when they begin. */
const STOCK = 40

/** Cuts the power again and again until the time is over, on each kind of file system in turn. */
export async function power(works: Works, tally: Tally, until: number): Promise<undefined> {
  const kinds = works.random.shuffled(KINDS.filter((kind) => whyNot(kind) === undefined))
  for (let turn = 0; performance.now() < until; turn++) {
    const image = new Image(kinds[turn % kinds.length] ?? 'ext4', works.root, works.random)
    const ledger = new Ledger()
    const directory = join(image.mountPoint, 'profiles')
    for (let cuts = 0; cuts < CUTS_AN_IMAGE && performance.now() < until; cuts++) {
      await cutOnce(works, image, directory, ledger, tally)
      tally.show('power')
    }
    image.unmount()
    rmSync(image.path)
  }
  return undefined
}

/** @throws {Violation} */
async function cutOnce(works: Works, image: Image, directory: string, ledger: Ledger, tally: Tally) {
  await work(works, image, directory, ledger, works.random.pick(image.cuts), tally)
  const sayIfBroken = () => {
    if (ledger.problems.length === 0) return
    image.unmount()
    throw new Violation(
      `${ledger.problems.join('; ')}\nsee ${image.path} (${image.kind}), not mounted any more`,
    )
  }
  ledger.check(directory, false)
  sayIfBroken()
  // Whatever was interrupted is finished by the next call, without being asked.
  await ownersGone(directory)
  const run = await works.next(directory)
  if (run.code !== 0 && run.code !== 3)
    ledger.problems.push(`after the cut next ended with ${run.code}: ${run.stderr}`)
  ledger.print(printedIn(run.stdout))
  const devices = works.random.shuffled([...ledger.devices.keys()]).slice(0, REPEATED)
  for (const device of devices) {
    const again = await works.next(directory, '--device', device)
    if (again.code !== 0)
      ledger.problems.push(`device ${device} got nothing again: ${again.code}, ${again.stderr}`)
    ledger.printFor(device, printedIn(again.stdout))
    tally.add('devices named again after a cut')
  }
  ledger.check(directory, true)
  const left = look(directory).asides.filter((aside) => !isOwnerAlive(aside))
  if (left.length > 0) ledger.problems.push(`still put aside: ${left.map(({ name }) => name).join(', ')}`)
  sayIfBroken()
}

/** Stations and a fetch at work, until the power is cut and what is left is mounted again. */
async function work(
  works: Works,
  image: Image,
  directory: string,
  ledger: Ledger,
  cut: Cut,
  tally: Tally,
): Promise<void> {
  const { random } = works
  let isOn = true
  const running = new Set<Started>()
  const during = async (started: Started) => {
    running.add(started)
    const ended = await started.ended
    running.delete(started)
    return ended
  }

  const station = async () => {
    while (isOn) {
      const device = random.chance(0.4) ? `SN ${random.whole(1, DEVICES)}` : undefined
      const panel = random.chance(0.25) ? ['-n', String(random.whole(2, 4))] : []
      const options = device === undefined ? panel : ['--device', device]
      const { stdout, hung } = await during(works.startNext(directory, ...options))
      if (hung) ledger.problems.push('next hung')
      const printed = printedIn(stdout)
      tally.add(device === undefined ? 'profiles printed' : 'profiles printed for devices', printed.length)
      if (device === undefined) ledger.print(printed)
      else ledger.printFor(device, printed)
      if (printed.length === 0) await sleep(20)
    }
  }
  const fetches = async () => {
    // A large one is flushed in one go. Up to 100 come in one answer.
    while (isOn) {
      const count = random.chance(0.3) ? random.whole(64, 100) : random.whole(1, 30)
      await fetchOnce(works, directory, ledger, count, during)
    }
  }

  while (look(directory).unused.size < STOCK) await fetchOnce(works, directory, ledger, STOCK, during)
  const busy = [station(), station(), fetches()]
  await sleep(random.whole(EARLIEST_CUT_MS, LATEST_CUT_MS))
  isOn = false
  if (cut === 'shutdown') image.shutDown()
  else {
    for (const { signal } of running) signal('SIGSTOP')
    image.snapshot()
  }
  for (const { signal } of running) signal('SIGKILL')
  await Promise.all(busy)
  image.unmount()
  if (cut === 'copy') image.restore()
  image.mount()
  tally.add(`power cuts on ${image.kind} (${cut})`)
}

type During = (started: Started) => Promise<{ stdout: string; stderr: string; code: number | null }>

/** Fetches one answer. What the trace tells was put aside must last from then on, whatever becomes of the call. */
async function fetchOnce(works: Works, directory: string, ledger: Ledger, count: number, during: During) {
  const log = join(works.root, 'trace')
  mkdirSync(works.root, { recursive: true })
  const before = works.service.delivered.size
  const calls = ['link', 'linkat', 'rename', 'renameat', 'fsync', 'openat', 'write']
  const { code } = await during(works.startFetch(directory, count, { under: traced(log, undefined, calls) }))
  const seen = readCalls(readFileSync(log, 'utf8'))
  const answer = works.deliveredSince(before)
  const isAside = isPutAside(seen, answer[0] ?? '')
  // A profile gets its name only when all of its answer is safe.
  const isPublished = seen.some(
    ({ name, args }) =>
      /^(link|rename)/.test(name) && answer.some((iccid) => args.includes(`/${iccid}.json"`)),
  )
  if (code === 0 || isAside || isPublished) ledger.keep(answer)
}
