/** What many profiles cost: in panels, and at stations that share a directory. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Place } from './place.ts'
import { pairs, settle, time, timeDecryption } from './run.ts'
import type { Suite } from './scale.ts'
import { grouped } from './table.ts'

/** One decryption is measured as the mean of so many. */
const DECRYPTIONS = 300
const DECRYPTIONS_A_PART = 50
const SMALL_PANEL = 100
const STATIONS = 4

const DECRYPTION = 'one RSA-4096 decryption in process, on one core'

/** `next -n 1000`, the whole process. */
export const panel: Suite = {
  name: 'panel',
  files: ({ panel, panelPairs }) => panel * (panelPairs + 1),
  async measure(place, { panel, panelPairs }) {
    const directory = await place.newDirectory(panel * (panelPairs + 1))
    const next = () => time(place.next(directory, undefined, '-n', String(panel))) / panel
    settle()
    next()
    const measured = await pairs(place, panelPairs, next, () => decryption(place, DECRYPTIONS))
    const first = `\`next -n ${panel}\`, per profile`
    return { rows: [{ first, second: DECRYPTION, unit: 'ms', ...measured }] }
  },
}

/** A whole lot, consumed by `next -n 100`; each pair is a part of it. */
export const lot: Suite = {
  name: 'lot',
  files: ({ lot }) => lot,
  async measure(place, { lot, lotPart }) {
    const directory = await place.newDirectory(lot)
    const nextPart = () => {
      let milliseconds = 0
      for (let taken = 0; taken < lotPart; taken += SMALL_PANEL) {
        milliseconds += time(place.next(directory, undefined, '-n', String(SMALL_PANEL)))
      }
      return milliseconds / lotPart
    }
    settle()
    const measured = await pairs(place, lot / lotPart, nextPart, () => decryption(place, DECRYPTIONS_A_PART))
    const first = `taking ${grouped(lot)} with \`next -n ${SMALL_PANEL}\`, per profile`
    return { rows: [{ first, second: DECRYPTION, unit: 'ms', ...measured }] }
  },
}

/** As many calls as there are profiles: every one of them must hand one out. */
export const stations: Suite = {
  name: 'stations',
  files: ({ stationProfiles, stationPairs }) => 2 * stationProfiles * stationPairs,
  async measure(place, { stationProfiles: count, stationPairs }) {
    let failed = 0
    const work = async (stations: number) => {
      const directory = await place.newDirectory(count)
      settle()
      const began = performance.now()
      let left = count
      const work = async () => {
        while (left-- > 0) if (!(await succeeds(place, directory))) failed++
      }
      await Promise.all(Array.from({ length: stations }, work))
      return (performance.now() - began) / 1000
    }
    const measured = await pairs(
      place,
      stationPairs,
      () => work(STATIONS),
      () => work(1),
    )
    const first = `${STATIONS} stations taking ${count} profiles`
    return { rows: [{ first, second: '1 station', unit: 's', ...measured, note: `failed calls: ${failed}` }] }
  },
}

async function succeeds(place: Place, directory: string): Promise<boolean> {
  const [command = '', ...args] = place.next(directory)
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  child.stdout.resume()
  const [code] = await once(child, 'exit')
  await place.breathe()
  return code === 0
}

const decryption = ({ privateKey, ciphertext }: Place, count: number) =>
  timeDecryption(privateKey, ciphertext, count)
