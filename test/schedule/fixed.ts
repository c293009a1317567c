/** Schedules that have found a mistake in this program. Each is run again; scripts/torture/schedule/text.ts reads them. */
export interface Fixed {
  readonly name: string
  readonly schedule: string
  /** What came of it. */
  readonly found: string
}

export const FIXED: readonly Fixed[] = [
  {
    name: 'a call for a device is killed between its claim and the removal of the unused file',
    schedule: 'links fresh/2 deviceD+iccid: A34!',
    found: 'the profile was printed for the device; moved elsewhere, the unused file was printed too',
  },
  {
    name: 'the same, and nobody asks for the profile',
    schedule: 'links fresh/2 deviceD+next: A34!',
    found: 'the unused file stayed, and status counted nothing unfinished',
  },
  {
    name: 'a panel claims a profile that is recorded for a device, and gives it back',
    schedule: 'links hint/2 deviceD+next2+deviceD: A24 B23 A2 B4=EIO B C A',
    found: 'two calls for the device printed two profiles',
  },
  {
    name: 'without hard links, a call reads the record of its device before it is written',
    schedule: 'nolinks hint/2 deviceD+deviceD: A18 B5 A',
    found: 'two calls for the device printed two profiles',
  },
  {
    name: 'a refused claim takes its empty used name back after --iccid has finished the claim',
    schedule: 'links hint/1 next+iccid: A14=EIO A1 B A',
    found: 'the printed profile had no file at all',
  },
  {
    name: 'a claim whose used name has the time of the verifier (NFS)',
    schedule: 'verifier hint/1 next+next: A13 B A',
    found: 'another call finished the live claim, and nobody printed the profile',
  },
  {
    name: 'a file server whose clock is 90 s behind',
    schedule: 'behind hint/1 next+next: A13 B A',
    found: 'another call finished the live claim, and nobody printed the profile',
  },
  {
    name: 'a station sleeps for 70 s amid its claim',
    schedule: 'links hint/1 next+next: A13@70s B A',
    found: 'exit code 5 instead of 3',
  },
  {
    name: 'a virus scanner holds the record of a device',
    schedule: 'held hint/1 deviceD+status:',
    found: 'exit code 9',
  },
  {
    name: 'a virus scanner holds the files of an answer',
    schedule: 'held hint/1 store+status:',
    found: 'exit code 9',
  },
  {
    name: 'another mount removes the hint while a call has it open',
    schedule: 'estale halfclaim/3 next2+next+iccid: B16',
    found: 'an internal error',
  },
  {
    name: 'a device on a file system that says ERANGE to link(2)',
    schedule: 'erange hint/1 deviceD+status:',
    found: 'exit code 9',
  },
  {
    name: 'fetch on such a file system',
    schedule: 'erange hint/1 store+status:',
    found: 'exit code 9, and nothing was stored',
  },
  {
    name: 'without hard links, three calls for a device meet at its empty used file',
    schedule: 'nolinks hint/2 deviceD+deviceD+deviceD: A22 B21 C17 A B C',
    found: 'the printed profile had no file at all',
  },
  {
    name: 'two calls of fetch store the same profile, and one of them pauses before its rename',
    schedule: 'links fresh/1 store+store+next2: A49 B C A',
    found: 'an unused file stayed beside the used one',
  },
  {
    name: 'a panel of devices beside a call that takes the last profile',
    schedule: 'links hint/2 devicesDE+next: A11 B A',
    found: 'the profile of the first device was used and not named',
  },
  {
    name: '--iccid looks at both names while another call claims',
    schedule: 'links hint/2 iccid+next: A3 B A',
    found: 'no such profile',
  },
  {
    name: '--iccid meets the empty used name of a claim',
    schedule: 'links hint/2 iccid+next: A2 B13 A B',
    found: 'the used file was said to be damaged',
  },
  {
    name: '--iccid finishes the claim of another call',
    schedule: 'links hint/1 next+iccid: A13 B A',
    found: 'the other call said that no profile can be used',
  },
  {
    name: 'a panel gives the profile of a device back between two looks',
    schedule: 'links assigned/2 deviceD+next2: B21 A22 B4=EIO B A',
    found: 'the file was said to be gone',
  },
  {
    name: 'an answer is removed, and the removal is reported as an error',
    schedule: 'links answer/2 next+next: A14~EIO',
    found: 'the copy was removed as well, and a profile was lost',
  },
  {
    name: 'the unused file of a recorded profile can not be read for a moment',
    schedule: 'nolinks assigned/3 deviceD+deviceD+next2: B14=ENOSPC',
    found: 'two calls for the device printed two profiles',
  },
  {
    name: 'a call for a device finds an empty used file, whose call completes its claim right before the repair',
    schedule: 'links assigned/2 deviceD+next: B18 A282 B A',
    found: 'both calls printed the profile',
  },
  {
    name: 'two calls with --iccid take over the claim of a killed call, and one of them finishes it for the other',
    schedule: 'links halfclaim/2 iccid+iccid: A8 B A',
    found: 'both printed the profile as if they were the first',
  },
  {
    name: 'a look at a name fails',
    schedule: 'links fresh/2 iccid+next: A4=EIO',
    found: 'an internal error',
  },
  {
    name: 'a settling call copies over the used file that a call for a device has just repaired',
    schedule: 'links assigned/2 next+deviceD+next2: A18!@120s B292 C20 B C',
    found: 'two calls for the device printed two profiles',
  },
  {
    name: '--iccid takes a claim over by what it read before the claim was released and begun again',
    schedule: 'links fresh/3 devicesDE+deviceD+iccid: A24 B20 A24 B C23 A24 C5 A C',
    found: 'two calls for the device printed two profiles',
  },
  {
    name: 'two calls settle one claim with the same draft, and one of them is killed',
    schedule: 'links halfclaim/2 next+next: A17 B17! A',
    found: 'the profile was lost',
  },
  {
    name: 'another tool renames the unused file while a refused claim is released',
    schedule: 'links fresh/2 rename+next: B19=EIO B2',
    found: 'the profile was lost',
  },
  {
    name: 'a call that has taken over the claim of a device is killed before it records the profile',
    schedule: 'nolinks fresh/2 deviceD+iccid: A32 B7 A1 B18! A',
    found: 'the profile stayed out of reach',
  },
  {
    name: 'the disk fails when a claim for a device is released',
    schedule: 'links fresh/2 deviceD+deviceD: A3 B A31~EIO',
    found: 'the profile stayed out of reach, and no call said so',
  },
  {
    name: 'a recorded profile that another device begins to claim, while a third call repairs its used file',
    schedule: 'nolinks assigned/3 devicesDE+devicesDE: A42 B339',
    found: 'the device got another profile too early, and the first one stayed out of reach',
  },
  {
    name: 'a call for another device is killed when it has begun to claim a recorded profile',
    schedule: 'links assigned/3 deviceE+deviceD: A28!@120s B',
    found: 'with the mend of the case above, the device waited for ever',
  },
  {
    name: 'the disk fails when --iccid looks whether a claimed profile is still unused',
    schedule: 'links claimed/2 rename+iccid: B2=EIO B',
    found: 'the profile was printed, and another tool could still take it',
  },
  {
    name: 'the disk refuses the record of a device, and another call for the device completes the claim',
    schedule: 'nolinks fresh/2 deviceD+deviceD: A39=EIO A1 B',
    found: 'the profile was printed, and the first call removed its file',
  },
  {
    name: 'a call that repairs the used file of a recorded profile is killed, while another device has begun to claim it',
    schedule: 'nolinks assigned/2 deviceD+deviceE: B31 A289!',
    found: 'the profile stayed out of reach, and the device waited for ever',
  },
  {
    name: 'a scanner has an answer open that two calls finish',
    schedule: 'held answer/1 iccid+recover+recover: B6',
    found: 'a call ended with an error',
  },
  {
    name: 'the power fails after a call for a device has removed a surplus file, while another call writes the used one',
    schedule: 'fat assigned/2 deviceD+next: B20 A245^0',
    found: 'the profile was lost',
  },
  {
    name: 'two calls of one move: one ends it while the other is about to link a draft',
    schedule: 'links fresh/2 move+move: A58 B87',
    found: 'the tombstone had no draft, and the profile was lost',
  },
  {
    name: 'a call of a move writes a draft where another call has just ended the move',
    schedule: 'links fresh/2 move+move: B58',
    found: 'exit code 9',
  },
  {
    name: 'a move is taken back while another call is taking it back',
    schedule: 'links fresh/2 move+back: A77 B15',
    found: 'exit code 9',
  },
  {
    name: 'a call links a draft that another call has not flushed, and the power fails',
    schedule: 'links fresh/2 move+move: A59 B60^0',
    found: 'the profile was in no list of those in transit',
  },
  {
    name: 'the power fails when the drafts are gone and the removal of the unused file is not flushed',
    schedule: 'links fresh/2 move+move: A35 B A2^0',
    found: 'the unused file came back beside its tombstone',
  },
  {
    name: 'without hard links, a move meets the empty file of another call that publishes the same profile',
    schedule: 'nolinks halfmoved/2 move+relay: B140 A109 B',
    found: 'exit code 9',
  },
  {
    name: 'a move can not read the tombstone that it has just linked',
    schedule: 'fat fresh/2 move+next: A92=EIO',
    found: 'it moved two profiles instead of one',
  },
  {
    name: 'the disk says that it failed when a profile is taken back, and --iccid takes it',
    schedule: 'links halfmoved/2 back+iccid: A18~EIO B',
    found: 'the printed profile had no file at all',
  },
  {
    name: 'a move gives up and removes the empty place of its mark, where another one is about to create its own',
    schedule: 'nolinks halfclaim/2 moveall+move: B105 A86 B',
    found: 'exit code 9',
  },
  {
    name: 'on btrfs, a station flushes the directory while another call puts a used file in its place; the power fails',
    schedule: 'btrfs fresh/3 next2+next: A41 B^0',
    found: 'the profile was lost: only an undecided text had it',
  },
  {
    name: 'a move is killed while it writes a tombstone, the same command gives, and the power fails',
    schedule: 'unordered fresh/2 move+move: A137!@120s B101^1/0',
    found: 'the move was closed, and the target did not have the profile',
  },
  {
    name: 'a move is killed while it writes to the target, the same command goes on, and the power fails',
    schedule: 'unordered fresh/2 move+move: A227!@120s B113^1/0',
    found: 'the profile in the target was empty, and its claim was gone',
  },
]
