/** What `next` costs: one call, also among many profiles, in panels, and at stations that share a directory. */

import { execFileSync } from 'node:child_process'
import { constants, privateDecrypt } from 'node:crypto'
import { join } from 'node:path'
import { type Cost, cost, grouped, median, peakMemory, type Row, seconds, time, turns } from './measure.ts'
import { fetchFrom, type Place } from './place.ts'

const FEW = 10
const PANEL = 1000
const PANELS = 7
const STATIONS = 4
const DECRYPTIONS = 300

/** The start of the process included, on both sides. Another copy of either executable may differ by 8 %. */
export async function start(place: Place, part: number): Promise<Row[]> {
  const station = await place.newStation(FEW)
  const measured = await turns(40 * part, {
    firsts: () => station(),
    seconds: () => time([process.execPath, '-e', '0']),
  })
  return [{ first: '`next`', second: '`node -e 0`', unit: 'ms', ...measured }]
}

/** One call of `next` among ever more profiles, half of them used: with the free list, and without it, which writes it. */
export async function many(place: Place, part: number): Promise<Row[]> {
  const few = await place.newStation(FEW)
  const rows: Row[] = []
  for (const count of [1000, 1_000_000 * part]) {
    const station = await place.newStation(count)
    const measured = await turns(9 * part, {
      without: () => station(false),
      with: () => station(),
      few: () => few(),
    })
    const first = `\`next\` with ${grouped(count)} profiles`
    const row = { first, second: `with ${FEW}`, unit: 'ms', seconds: measured.few } as const
    rows.push({ ...row, firsts: measured.with })
    rows.push({ ...row, first: `${first}, without the free list`, firsts: measured.without })
  }
  return rows
}

/** `next -n 1000`, the whole process. */
export async function panel(place: Place, part: number): Promise<Row[]> {
  const directory = await place.newDirectory(PANEL * PANELS)
  const { firsts, seconds } = await turns(PANELS * part, {
    firsts: async () => (await time(place.next(directory, ['-n', String(PANEL)]))) / PANEL,
    seconds: () => decryption(place),
  })
  const second = 'one RSA-4096 decryption in process, on one core'
  return [{ first: `\`next -n ${PANEL}\`, per profile`, second, unit: 'ms', firsts, seconds }]
}

/** Milliseconds of one decryption, of some one after the other on one core. */
function decryption({ privateKey: key, ciphertext }: Place): number {
  const options = { key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha1' }
  const began = performance.now()
  for (let n = 0; n < DECRYPTIONS; n++) privateDecrypt(options, ciphertext)
  return (performance.now() - began) / DECRYPTIONS
}

/** As many calls as there are profiles: every one of them must hand one out. */
export async function stations(place: Place, part: number): Promise<Row[]> {
  const count = 400 * part
  let failed = 0
  const secondsWith = (stations: number) => async () => {
    const directory = await place.newDirectory(count)
    const began = performance.now()
    let left = count
    const work = async () => {
      while (left-- > 0) await time(place.next(directory)).catch(() => failed++)
    }
    await Promise.all(Array.from({ length: stations }, work))
    return (performance.now() - began) / 1000
  }
  const measured = await turns(3 * part, { firsts: secondsWith(STATIONS), seconds: secondsWith(1) })
  const first = `${STATIONS} stations taking ${count} profiles`
  return [{ first, second: '1 station', unit: 's', ...measured, note: `failed calls: ${failed}` }]
}

const PAIRS = 3
const MANY = 100_000
const ROUND_TRIPS_MS = [100, 200]
const LARGEST_BATCH = 1000
const CONNECTIONS = 4
const FLUSHES_AT_ONCE = 64
const PLAIN = 'writing the same files without flushing'
const EACH = `writing the same files, each flushed, ${FLUSHES_AT_ONCE} at a time`

/** In turns with writing the same files, plainly, and with a flush of each, which is the least that durability costs. */
export async function fetch(place: Place, part: number): Promise<Row[]> {
  const fetched = MANY * part
  const { ours, plain, each } = await turns(PAIRS * part, {
    ours: () => fetchFrom(place, fetched, seconds),
    plain: () => write(place, fetched, 'plain').wall,
    each: () => write(place, fetched, 'each').wall,
  })
  const row = { first: `\`fetch\` of ${grouped(fetched)}`, unit: 's', firsts: ours } as const
  const note = `${grouped(Math.round(fetched / median(ours)))} profiles per second`
  return [
    { ...row, second: PLAIN, seconds: plain, note },
    { ...row, second: EACH, seconds: each },
  ]
}

/** As GNU's `sync` does it, which `fetch` uses. */
export async function flush(place: Place, part: number): Promise<Row[]> {
  if (process.platform !== 'linux') return []
  const fetched = MANY * part
  const measured = await turns(PAIRS * part, {
    firsts: () => write(place, fetched, 'at once').wall,
    seconds: () => write(place, fetched, 'each').wall,
  })
  return [
    { first: 'writing the same files, `sync -f` after each 1,000', second: EACH, unit: 's', ...measured },
  ]
}

/** Where no disk takes any time: what is left is the program. */
export async function inMemory(place: Place, part: number): Promise<Row[]> {
  if (process.platform !== 'linux') return []
  const count = 30_000 * part
  const { ours, plain } = await turns(PAIRS * part, {
    ours: () => fetchFrom(place, count, cost, 0, place.newPathInMemory()),
    plain: () => write(place, count, 'plain', place.newPathInMemory()),
  })
  return (['wall', 'cpu'] as const).map((which) => ({
    first: `\`fetch\` of ${grouped(count)} on tmpfs${which === 'cpu' ? ', processor time' : ''}`,
    ...{ second: PLAIN, unit: 's' },
    firsts: ours.map((each) => each[which]),
    seconds: plain.map((each) => each[which]),
  }))
}

/** Over what a network allows that is a round trip wide: full batches, on all connections all the time. */
export async function far(place: Place, part: number): Promise<Row[]> {
  const count = 20_000 * part
  const rounds = Math.ceil(count / LARGEST_BATCH / CONNECTIONS)
  const second = `${rounds} round trips, with ${CONNECTIONS} full requests each`
  const rows: Row[] = []
  for (const ms of ROUND_TRIPS_MS) {
    const { ours } = await turns(PAIRS * part, { ours: () => fetchFrom(place, count, seconds, ms) })
    const first = `\`fetch\` of ${grouped(count)} over TLS, round trip ${ms} ms`
    rows.push({ first, second, unit: 's', firsts: ours, seconds: ours.map(() => (rounds * ms) / 1000) })
  }
  return rows
}

/** The fewest against each of the others; one call each, as the largest takes minutes. */
export async function peak(place: Place, part: number): Promise<Row[]> {
  if (process.platform !== 'linux') return []
  const counts = [10_000, MANY, 10 * MANY].map((count) => count * part)
  const all: number[] = []
  for (const count of counts) all.push(await fetchFrom(place, count, peakMemory))
  const [fewest = 0, ...more] = all
  const second = `of ${grouped(counts[0] ?? 0)}`
  return more.map((megabytes, at) => {
    const first = `peak memory of \`fetch\` of ${grouped(counts[at + 1] ?? 0)}`
    return { first, second, unit: 'MB', firsts: [megabytes], seconds: [fewest] }
  })
}

type Way = 'plain' | 'each' | 'at once'

/** Written by a process of its own, which tells what it took without the start. */
function write(place: Place, count: number, way: Way, directory = place.newPath()): Cost {
  const args = [join(import.meta.dirname, 'write.ts'), place.publicKeyPath, directory, String(count), way]
  // The threads of libuv's pool, in which flushes wait.
  const env = { ...process.env, UV_THREADPOOL_SIZE: String(FLUSHES_AT_ONCE) }
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', env }))
}
