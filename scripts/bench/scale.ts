/** How much is measured: all of it, or enough to see whether something is off. */
export const FULL = {
  startPairs: 40,
  /** Files in the large directory. */
  many: 1_000_000,
  manyPairs: 40,
  /** Their first is a call without the hint. */
  coldPairs: 5,
  panel: 1000,
  panelPairs: 7,
  lot: 20_000,
  /** How many profiles are consumed between two measurements of a decryption. */
  lotPart: 1000,
  stationProfiles: 400,
  stationPairs: 3,
  fetched: 100_000,
  fetchPairs: 3,
  fetchedFar: 20_000,
  /** Profiles that are fetched to see the memory that it takes, fewest first. */
  memory: [10_000, 100_000, 1_000_000],
  /** Their first is the first call of `next` after the largest fetch. */
  afterPairs: 15,
  /** Profiles in the directories of the plot. */
  plotted: [10, 100, 1000, 10_000, 100_000, 1_000_000],
  plotRuns: 9,
}

export type Scale = typeof FULL

export const QUICK: Scale = {
  ...FULL,
  ...{ startPairs: 10, many: 100_000, manyPairs: 10, coldPairs: 3, panelPairs: 2, lot: 4000 },
  ...{ stationProfiles: 100, stationPairs: 2, fetched: 20_000, fetchPairs: 1, fetchedFar: 10_000 },
  ...{ memory: [5000, 20_000], afterPairs: 5, plotted: [10, 100, 1000, 10_000, 100_000], plotRuns: 5 },
}
