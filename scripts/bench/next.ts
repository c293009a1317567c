/** What one call of `next` costs, and what it costs among many profiles. */
import { BINARY, BUNDLE, type Place } from './place.ts'
import { type Line, pairs, settle, time } from './run.ts'
import type { Suite } from './scale.ts'
import { grouped } from './table.ts'

const FEW = 10
/** Unused profiles in the large directory when all is measured. */
const LEFT = 20

/** Two copies of an executable may differ by 8 %, because of where the system keeps them in memory. */
const COPIES = 4

/** The start of the process included, on both sides. */
export const start: Suite = {
  name: 'start',
  files: ({ startPairs }) => 2 * (startPairs + 1) * FEW,
  async measure(place, scale) {
    const [node = '', ...script] = BUNDLE
    const [binary = ''] = BINARY
    const nodes = place.copies(node, COPIES)
    const builds = {
      bundle: nodes.map((each) => [each, ...script]),
      binary: place.copies(binary, COPIES).map((each) => [each]),
    }
    const rows = []
    for (const [name, programs] of Object.entries(builds)) {
      const stations = await newStations(place, scale.startPairs + 1)
      const program = inTurns(programs)
      const nothing = inTurns(nodes.map((each) => [each, '-e', '0']))
      const next = () => time(place.next(stations.pop() ?? '', program()))
      settle()
      next()
      const measured = await pairs(place, scale.startPairs, next, () => time(nothing()))
      rows.push({ first: `\`next\`, ${name}`, second: '`node -e 0`', unit: 'ms', ...measured } as const)
    }
    return { rows }
  },
}

function inTurns(lines: readonly Line[]): () => Line {
  let turn = 0
  return () => lines[turn++ % lines.length] ?? []
}

/**
 * A large directory, nearly used up, against a small one. Nothing that is handed out is put back: there are so many
 * unused profiles that 20 are left after the last call. Of the small ones there is one for each call.
 */
export const many: Suite = {
  name: 'many',
  files: ({ many, manyPairs, coldPairs }) => many + (manyPairs + coldPairs + 1) * FEW,
  async measure(place, { many, manyPairs, coldPairs }) {
    const calls = 1 + manyPairs + coldPairs
    const used = many - LEFT - calls
    const large = await place.newDirectory(many, { used })
    const stations = await newStations(place, manyPairs + coldPairs)
    const nextOfFew = () => time(place.next(stations.pop() ?? ''))
    const nextOfMany = () => time(place.next(large))
    nextOfMany()
    settle()
    const warm = await pairs(place, manyPairs, nextOfMany, nextOfFew)
    const nextWithoutHint = () => {
      place.dropHint(large)
      settle()
      return nextOfMany()
    }
    const cold = await pairs(place, coldPairs, nextWithoutHint, nextOfFew)
    const first = `\`next\` with ${LEFT} of ${grouped(many)} left`
    const names = { second: `with ${FEW} of ${FEW}`, unit: 'ms' } as const
    return {
      rows: [
        { first, ...names, ...warm },
        { first: `${first}, first call after the hint was deleted`, ...names, ...cold },
      ],
    }
  },
}

async function newStations(place: Place, count: number): Promise<string[]> {
  const stations: string[] = []
  while (stations.length < count) stations.push(await place.newStation(FEW))
  return stations
}
