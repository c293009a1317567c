/**
 * Families of schedules that have found a mistake in this program: `?` is any number of steps, so they stay what they
 * are when the steps change. scripts/torture/schedule/sweep.ts runs them.
 */
export interface Sweep {
  readonly name: string
  readonly schedule: string
  /** What came of one of them. */
  readonly found: string
  /** Too many for `npm test`: `node scripts/torture/schedule.ts --set sweeps` runs it. */
  readonly isLong?: boolean
}

export const SWEEPS: readonly Sweep[] = [
  {
    name: 'a move gets too few while another call decides it for the target, and that call dies',
    schedule: 'links halfmoved/1 move2+move: A? B? A B0!',
    found: 'the mark in the target was gone: in transit for ever',
  },
  {
    name: 'a move is asked to stop while another call decides it for the target, and that call dies',
    schedule: 'links halfmoved/1 move+move: A?$ A? B? A B0!',
    found: 'the mark in the target was gone: in transit for ever',
    isLong: true,
  },
  {
    name: 'a panel on a disk that does what it is told, says that it failed, and is dead from then on',
    schedule: 'links fresh/3 next2: A?~EIO+',
    found: 'a used profile was named by no call',
  },
  {
    name: 'the same without hard links',
    schedule: 'nolinks fresh/3 next2: A?~EIO+',
    found: 'a used profile was named by no call',
  },
  {
    name: 'a panel on a disk that is dead from one step on',
    schedule: 'links fresh/3 next2: A?=EIO+',
    found: 'a used profile was named by no call',
  },
  {
    name: 'a call pauses before it gives a profile that another call of its move gives, beside a tool that only renames',
    schedule: 'links fresh/2 move+move+renameT+renameT: A? B C A1 D A',
    found: 'the tool printed the profile twice',
  },
  {
    name: '--iccid prints a profile that a panel is about to give back',
    schedule: 'links fresh/2 iccid+next2: B?=EACCES',
    found: 'the next station printed it too',
  },
  {
    name: 'the reply to a step is lost (NFS), and then the call is asked to stop',
    schedule: 'links fresh/3 next2: A?~ENOENT A?$',
    found: 'a used profile was named by no call',
  },
  {
    name: '--iccid looks at a claim for a device that another call gives back at that moment',
    schedule: 'links fresh/2 deviceD+deviceD+iccid: A? B A? C? A C',
    found: 'exit code 9 (EEXIST) for an unused profile',
    isLong: true,
  },
  {
    name: 'two moves of one profile',
    schedule: 'links fresh/1 move+move: A? B? A B',
    found: 'both failed, and the profile was there',
    isLong: true,
  },
  {
    name: 'a move into a directory that another move leaves',
    schedule: 'links fresh/2 move+home: A? B A',
    found: 'exit code 9: the other call had removed the place of the journals',
  },
  {
    name: 'a call that takes a move back is killed',
    schedule: 'links halfmoved/2 back: A?!',
    found: 'next said that there are no profiles, and the next call printed some',
  },
  {
    name: 'a panel of devices on a disk that is dead from one step on, which it has done',
    schedule: 'links fresh/3 devicesDE: A?~EIO+',
    found: 'the profile of the first device was named by no call',
  },
  {
    name: 'without hard links, two calls for a device, each paused once',
    schedule: 'nolinks fresh/3 deviceD+deviceD: A? B? A B',
    found: 'exit code 9: the record of the device was not complete',
  },
  {
    name: 'a move is killed, and the same command is given again',
    schedule: 'links fresh/4 move2+move2: A?! B',
    found: 'three profiles were moved',
  },
  {
    name: 'the disk refuses one step of a move, and the same command is given again',
    schedule: 'links fresh/4 move2+move2: A?=EIO B',
    found: 'three profiles were moved',
  },
  {
    name: 'the disk reports one step of a move as an error, and the same command is given again',
    schedule: 'links fresh/4 move2+move2: A?~EIO B',
    found: 'three profiles were moved',
  },
  {
    name: 'a disk dies while profiles are moved from it or to it',
    schedule: 'links fresh/3 move2: A?~EIO+ A',
    found: 'the same command moved more',
  },
  {
    name: 'a move is asked to stop, and the same command is given again',
    schedule: 'links fresh/4 move2+move2: A?$ B',
    found: 'three profiles were moved',
  },
  {
    name: 'a move into a directory with a damaged file is killed, and a station takes a profile there',
    schedule: 'links damaged/2 move+nextT: A?! B',
    found: 'no call named the damaged file',
  },
  {
    name: 'a moved profile is put back from a backup',
    schedule: 'links restored/1 next+move: A0@120s A B',
    found: 'the move said that it moved the profile, and nothing had come to the target',
  },
  {
    name: 'a moved profile is put back from a backup, and comes home',
    schedule: 'links restored/3 home+next: A B',
    found: 'the profile was lost',
  },
  {
    name: 'a move is killed, the same command is given again, and the power fails',
    schedule: 'unordered fresh/2 move+move: A?!@2m B?^1/0',
    found: 'the profile was lost: given while its tombstone was torn, or not flushed in the target',
    isLong: true,
  },
  {
    name: 'a lot comes home',
    schedule: 'links fresh/1 round:',
    found: 'exit code 3: what left a directory could not come back',
  },
  {
    name: 'a lot comes home twice',
    schedule: 'links fresh/2 rounds:',
    found: 'exit code 3: what left a directory could not come back',
  },
  {
    name: 'a lot comes home while a station works',
    schedule: 'links fresh/2 round+next: A? B A',
    found: 'nothing so far',
  },
  {
    name: 'restore is killed, and the same command is given again',
    schedule: 'links backup/3 restore: A?!',
    found: 'nothing so far',
  },
  {
    name: 'the same without hard links',
    schedule: 'nolinks backup/3 restore: A?!',
    found: 'nothing so far',
  },
  {
    name: 'the power fails during restore on FAT',
    schedule: 'fat backup/3 restore: A?^1',
    found: 'nothing so far',
  },
  {
    name: 'a disk dies during restore',
    schedule: 'links backup/3 restore: A?~EIO+ A',
    found: 'nothing so far',
  },
  {
    name: 'two restore the same directory, and one is killed',
    schedule: 'links backup/3 restore+restore: A? B? A B0!',
    found: 'nothing so far',
    isLong: true,
  },
  {
    name: 'restore beside the call for a device that the receipts name',
    schedule: 'links backup/3 restore+deviceD: A? B? A B',
    found: 'nothing so far',
    isLong: true,
  },
  {
    name: 'restore beside a move',
    schedule: 'links backup/3 restore+move: A? B A',
    found: 'nothing so far',
  },
  {
    name: 'without a journal, a call is killed before it flushes what it has decided, and power fails while another one finishes it',
    schedule: 'nolinks fresh/1 iccid+iccid: A34! B?^0.5',
    found: 'the profile was lost: no name of it had reached the disk',
  },
  {
    name: 'the same, whenever it is killed',
    schedule: 'nolinks fresh/1 iccid+iccid: A?! B?^0.5',
    found: 'the profile was lost: no name of it had reached the disk',
    isLong: true,
  },
  {
    name: 'two signals end a panel',
    schedule: 'links fresh/3 next2: A?$$',
    found: 'nothing so far',
  },
  {
    name: 'two signals end a call for two devices',
    schedule: 'links fresh/3 devicesDE: A?$$',
    found: 'nothing so far',
  },
]
