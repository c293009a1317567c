/** What `next` costs: one call, also among many profiles, in panels, and at stations that share a directory. */
import { constants, privateDecrypt } from 'node:crypto'
import type { Place } from './place.ts'
import { time, turns } from './run.ts'
import { grouped, type Row } from './table.ts'

const FEW = 10
const PANEL = 1000
const PAIRS = 7
const STATIONS = 4
const DECRYPTIONS = 300

/** The start of the process included, on both sides. Another copy of either executable may differ by 8 %. */
export async function start(place: Place, part: number): Promise<Row[]> {
  const station = await place.newStation(FEW)
  const measured = await turns(40 * part, {
    firsts: () => station.next(),
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
      without: () => station.nextWithoutList(),
      with: () => station.next(),
      few: () => few.next(),
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
  const directory = await place.newDirectory(PANEL * PAIRS)
  const { firsts, seconds } = await turns(PAIRS * part, {
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
