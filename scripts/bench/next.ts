/** What `next` costs: one call, also among many profiles, in panels, and at stations that share a directory. */
import { constants, privateDecrypt } from 'node:crypto'
import { copyFileSync } from 'node:fs'
import type { Place } from './place.ts'
import { pairs, settle, succeeds, time } from './run.ts'
import type { Scale } from './scale.ts'
import { grouped, type Row } from './table.ts'

const FEW = 10
/** Unused profiles in the large directory when all is measured. */
const LEFT = 20
/** Two copies of an executable may differ by 8 %, because of where the system keeps them in memory. */
const COPIES = 4
const SMALL_PANEL = 100
const STATIONS = 4
const DECRYPTION = 'one RSA-4096 decryption in process, on one core'

/** The start of the process included, on both sides. */
export async function start(place: Place, { startPairs }: Scale): Promise<Row[]> {
  const nodes = copies(place, process.execPath)
  const builds = {
    bundle: nodes.map((node) => [node, place.bundle]),
    binary: copies(place, place.binary).map((copy) => [copy]),
  }
  const rows: Row[] = []
  for (const [name, programs] of Object.entries(builds)) {
    const stations = await place.newStations(startPairs + 1, FEW)
    let turn = 0
    const next = () => time(place.next(stations.pop() ?? '', [], programs[turn++ % COPIES]))
    const nothing = () => time([nodes[turn % COPIES] ?? '', '-e', '0'])
    settle()
    await next()
    const measured = await pairs(startPairs, next, nothing)
    rows.push({ first: `\`next\`, ${name}`, second: '`node -e 0`', unit: 'ms', ...measured })
  }
  return rows
}

function copies(place: Place, path: string): string[] {
  const all = Array.from({ length: COPIES }, () => place.newPath())
  for (const copy of all) copyFileSync(path, copy)
  return all
}

/**
 * A large directory, nearly used up, against a small one. Nothing that is handed out is put back: there are so many
 * unused profiles that 20 are left after the last call. Of the small ones there is one for each call.
 */
export async function many(place: Place, { many, manyPairs, coldPairs }: Scale): Promise<Row[]> {
  const large = await place.newDirectory(many, { used: many - LEFT - 1 - manyPairs - coldPairs })
  const stations = await place.newStations(manyPairs + coldPairs, FEW)
  const nextOfFew = () => time(place.next(stations.pop() ?? ''))
  const nextOfMany = () => time(place.next(large))
  await nextOfMany()
  settle()
  const warm = await pairs(manyPairs, nextOfMany, nextOfFew)
  const cold = await pairs(coldPairs, () => withoutHint(place, large, nextOfMany), nextOfFew)
  const first = `\`next\` with ${LEFT} of ${grouped(many)} left`
  const names = { second: `with ${FEW} of ${FEW}`, unit: 'ms' } as const
  return [
    { first, ...names, ...warm },
    { first: `${first}, first call after the hint was deleted`, ...names, ...cold },
  ]
}

function withoutHint(place: Place, directory: string, next: () => Promise<number>): Promise<number> {
  place.dropHint(directory)
  settle()
  return next()
}

/** `next -n 1000`, the whole process. */
export async function panel(place: Place, { panel, panelPairs }: Scale): Promise<Row[]> {
  const directory = await place.newDirectory(panel * (panelPairs + 1))
  const next = async () => (await time(place.next(directory, ['-n', String(panel)]))) / panel
  settle()
  await next()
  const measured = await pairs(panelPairs, next, () => decryption(place, 300))
  return [{ first: `\`next -n ${panel}\`, per profile`, second: DECRYPTION, unit: 'ms', ...measured }]
}

/** A whole lot, consumed by `next -n 100`; each pair is a part of it. */
export async function lot(place: Place, { lot, lotPart }: Scale): Promise<Row[]> {
  const directory = await place.newDirectory(lot)
  const nextPart = async () => {
    let milliseconds = 0
    for (let taken = 0; taken < lotPart; taken += SMALL_PANEL)
      milliseconds += await time(place.next(directory, ['-n', String(SMALL_PANEL)]))
    return milliseconds / lotPart
  }
  settle()
  const measured = await pairs(lot / lotPart, nextPart, () => decryption(place, 50))
  const first = `taking ${grouped(lot)} with \`next -n ${SMALL_PANEL}\`, per profile`
  return [{ first, second: DECRYPTION, unit: 'ms', ...measured }]
}

/** Milliseconds of one decryption, of `count` one after the other on one core. */
function decryption({ privateKey: key, ciphertext }: Place, count: number): number {
  const options = { key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha1' }
  const began = performance.now()
  for (let n = 0; n < count; n++) privateDecrypt(options, ciphertext)
  return (performance.now() - began) / count
}

/** As many calls as there are profiles: every one of them must hand one out. */
export async function stations(
  place: Place,
  { stationProfiles: count, stationPairs }: Scale,
): Promise<Row[]> {
  let failed = 0
  const secondsWith = (stations: number) => async () => {
    const directory = await place.newDirectory(count)
    settle()
    const began = performance.now()
    let left = count
    const work = async () => {
      while (left-- > 0) if (!(await succeeds(place.next(directory)))) failed++
    }
    await Promise.all(Array.from({ length: stations }, work))
    return (performance.now() - began) / 1000
  }
  const measured = await pairs(stationPairs, secondsWith(STATIONS), secondsWith(1))
  const first = `${STATIONS} stations taking ${count} profiles`
  return [{ first, second: '1 station', unit: 's', ...measured, note: `failed calls: ${failed}` }]
}

/** One call of `next` among ever more unused profiles: one without the hint, which writes it, and one with it. */
export async function growth(place: Place, { plotted, plotRuns }: Scale): Promise<Row[]> {
  const rows: Row[] = []
  for (const count of plotted) {
    const directory = await place.newDirectory(count, { real: FEW })
    const next = () => time(place.next(directory))
    settle()
    await next()
    place.putBack(directory, 0)
    const withHint = async () => {
      settle()
      const milliseconds = await next()
      // Of both calls.
      for (const n of [0, 1]) place.putBack(directory, n)
      return milliseconds
    }
    const measured = await pairs(plotRuns, () => withoutHint(place, directory, next), withHint)
    const first = `\`next\` with ${grouped(count)} unused, without the hint`
    rows.push({ first, second: 'with the hint', unit: 'ms', ...measured })
  }
  return rows
}
