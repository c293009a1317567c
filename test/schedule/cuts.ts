/**
 * Calls that are killed, or end in a power cut, after any of their steps. scripts/torture/schedule/text.ts reads them:
 * `unordered` and `nolinks` are disks without a journal, on which one directory may keep its changes and another none.
 */
export const CUTS: readonly string[] = [
  // A fetch that has received two profiles, also into a directory that is not there yet.
  ...['links', 'fat'].flatMap((kind) => [`${kind} fresh/1 store: A?!`, `${kind} fresh/1 store: A?^.5`]),
  ...['^0', '^0/1', '^1/0'].flatMap((cut) =>
    ['unordered', 'nolinks', 'fat'].map((kind) => `${kind} fresh/1 store: A?${cut}`),
  ),
  'links fresh/1 store: A?^0',
  'whole fresh/1 store: A?^0/1',
  'unordered fresh/1 storeanew: A?^0',
  'links missing/0 store: A?^0',
  'unordered missing/0 store: A?^0',
  'fat missing/0 store: A?^0',
  // A fetch is killed and has flushed nothing of what it has stored; then the power fails.
  'fat fresh/1 store+recover: A?! B?^0',
  // A claim of a killed call is finished; then the power fails.
  'unordered fresh/1 deviceD+deviceD: A?!@2m B?^0/1',
  'unordered fresh/1 deviceD+deviceD: A?!@2m B?^1/0',
  'btrfs fresh/2 next+iccid: A?!@2m B?^0',
  // The disk refuses a step; then the power fails.
  'unordered fresh/2 next: A?=EIO A^0/1',
  // What an interrupted fetch has received, and what it has received in part.
  'unordered answer/2 recover: A?^0/1',
  'nolinks answer/2 next: A?^0',
  ...['answer', 'torn'].flatMap((start) => [
    `links ${start}/2 recover: A?^0`,
    `fat ${start}/2 recover: A?^0`,
  ]),
  'links torn/2 recover: A?!',
  'fat torn/2 recover: A?^1',
  // A panel, and devices that ask again.
  ...['unordered', 'fat'].flatMap((kind) =>
    ['^0/1', '^1/0'].flatMap((cut) => [
      `${kind} fresh/3 next2: A?${cut}`,
      `${kind} fresh/3 devicesDE+devicesDE: A?${cut} B`,
    ]),
  ),
  'links fresh/3 next2: A?^0',
  'nolinks fresh/3 next2: A?^.5',
  'links fresh/3 devicesDE+devicesDE: A?^0 B',
  'btrfs fresh/2 deviceD+deviceD: A?^0 B',
  'fat fresh/3 deviceD+deviceD: A?^.5 B',
  // A move that is repeated, or taken back.
  ...['links', 'fat'].flatMap((kind) => [
    `${kind} fresh/3 move2+move2: A?^0 B`,
    `${kind} fresh/3 move2+back: A?^0 B`,
  ]),
  'unordered fresh/3 move2+move2: A?^0/1 B',
  'unordered fresh/3 move2+back: A?^1/0 B',
  'nolinks fresh/1 move+move: A?^0/1 B',
  'nolinks fresh/1 move+back: A?^1/0 B',
]
