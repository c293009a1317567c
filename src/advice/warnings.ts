import { quote } from './shell.ts'

/** Every kind of warning that a person can do something about: what follows its text. */
export const WARNINGS = {
  'after-backup': ': do not delete that file, and see softsim help restore',
  carried: '; if it came from a backup, stop, and see softsim help restore',
  copied: '; see softsim help restore',
  damaged:
    ': move such files out of the directory, unless a device has them, and ask the service provider about their ICCIDs',
  held: ': close it',
  kept: ': their profiles may be paid for; ask the service provider, then move them away',
  locked: ': move such files to a directory of their own, for the key that they were fetched with',
  'locked-first': ': it may be the wrong one; still checking the others, press Ctrl-C to stop',
  'on-screen': ': clear the screen and its history; use | or > to send a profile to a device',
  'open-key': (file: string) => (file === '-' ? '' : `; take that away: chmod o-rwx ${quote(file)}`),
  'only-listed':
    ": the vendor's tool did not store them, or somebody has moved them; -v names them; each entry of that list has what its file had",
  'put-back': (name: string) =>
    `: if the directory that they were moved to is gone, or does not have them any more, rename them, such as to ${name}`,
  'slow-reader': '; press Ctrl-C to stop',
  unanswered: '; ask the service provider for them',
  unfit: ': move such files out of the directory, and tell the service provider',
  unreadable: ': leave them there, and check the permissions, the share and the disk',
  unlisted: '; -v names them',
  unrecorded: ': if it comes back, use --device and --iccid together',
  returned: (iccid: string) => `; if no device and no other directory has it, print it with --iccid ${iccid}`,
  unprinted: (iccid: string) => `; if no device has it, print it with --iccid ${iccid}`,
} as const

export type WarningKind = keyof typeof WARNINGS
