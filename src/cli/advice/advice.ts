/**
 * The exit code and the hint of each kind of failure. What happened is said where it is known; which option or command
 * helps is said only here.
 */
import { isAbsolute } from 'node:path'
import { Failure } from '../../failure.ts'
import { fullPath } from '../../full-path.ts'
import { oddEnd, several } from '../../words.ts'
import { DISK, LEAVE_DELETED } from './disk.ts'
import type { Outcome } from './exit-codes.ts'
import type { Hints } from './hint.ts'
import { KEY } from './key.ts'
import { SERVICE } from './service.ts'
import { diskPresence, quote } from './shell.ts'
import { MESSAGES, USAGE, UsageError } from './usage.ts'

const REPORT =
  'report it where you got softsim; include the line above and the output of the same command with -vvv'

/** Why nothing is moved, or not all of it. */
export const MOVE = {
  'disk-away':
    'connect that disk, check -o, and run the same command again: it finishes the move; --back takes all of it back if nothing was given yet',
  'left-target': 'the other directory has used them: are -i and -o swapped? nothing was moved',
  moved: 'give that directory with -i; if the move was interrupted, run it again',
  'no-move': 'check -i and -o',
  'no-place': ({ platform }) => `check -o and ${diskPresence(platform)}; nothing was moved`,
  'none-to-move': 'see softsim status',
  'not-taken-back':
    'run the move again: it gives the rest; then swap -i and -o to move home what is unused there',
  'other-disk':
    'connect the disk that it began with; to move profiles to this one, give another name with -o; --back takes all of it back if nothing was given yet',
  'too-few-to-move': 'move fewer, or use --all; these were not moved',
} as const satisfies Partial<Hints>

/** By outcome. */
const ADVICE = {
  usage: USAGE,
  'no-profiles': {
    'all-moved':
      'all profiles in it are used or moved, which softsim status counts: check -i, or fetch more: see softsim help fetch',
    'all-used': 'all profiles in it are used; fetch more: see softsim help fetch',
    'being-claimed': 'run the same command again, after a minute if that call was killed',
    'busy-claim': 'run this command again; if no other call is running, see softsim status',
    'file-gone': ({ name }) => `put ${name} or its used file back`,
    'has-profile':
      'scan the device again; if it is the right one, leave out --new or --iccid: the same profile is printed again; nothing was claimed',
    'no-directory': ({ directory }) => whereToLook(directory),
    'no-more': 'ask the service provider for more profiles; if your account should have some, check --url',
    'no-profiles': ({ below }) =>
      below === undefined
        ? `check -i and ${diskPresence()}, or download profiles with softsim fetch`
        : `did you mean -i ${quote(below)}?`,
    ...MOVE,
    nobodys:
      'check the serial number, in which case matters, or the ICCID; softsim status --devices lists all',
    'others-profile': 'check the serial number and the ICCID; nothing was claimed',
    'other-path':
      'check --url: the path is usually /sims/profiles; if it is right, ask the service provider for more profiles',
    'other-receipts': 'check -i; a new directory, with other profiles, needs no comparison',
    'no-such-profile': 'check the ICCID and -i',
    received: ({ count }) =>
      `${several(count, 'profile')} that a running or interrupted call received will be stored: when it ends, or ten minutes after it was interrupted, by the next call`,
    'too-few':
      'softsim status -k counts those that can be used; take fewer, or fetch more; nothing was claimed',
  },
  key: KEY,
  unusable: {
    contradiction:
      'softsim restore --receipts marks as used what is unused; for a device of several ICCIDs, and an ICCID of several devices, see the manual of softsim restore',
    damaged:
      'copy the file from a backup, or ask the service provider for another profile; nothing was claimed',
    'none-checked-usable': 'the warnings say why, file by file',
    'none-usable': 'see the warning for each file; nothing was claimed',
    unfit: 'take another profile, and tell the service provider about this one; nothing was claimed',
  },
  'api-key': {
    'api-key': ({ status }) =>
      `set SOFTSIM_API_KEY to an API key for SoftSIM profiles${status === 403 ? ', or correct --url: another address may answer 403 too' : ''}`,
  },
  service: {
    ...SERVICE,
    redirected: ({ to, why }) => `the service redirected to ${to}; ${adviceOn(new Failure(why)).hint}`,
  },
  partial: { partial: ({ left, cause }) => `${adviceOn(cause).hint}; ${restOf(left)}` },
  disk: DISK,
  copy: {
    copy: ({ directory, platform }) =>
      `nothing was claimed; use the directory that it was copied from, or, if that is gone: softsim restore -i ${quote(directory, platform)} --receipts FILE..., with the receipts of all stations`,
  },
  interrupted: {
    interrupted: 'run the same command again',
    'interrupted-move': 'run the same command again: it finishes the move',
    'interrupted-fetch': ({ left }) => restOf(left),
  },
} as const satisfies { readonly [O in Outcome]?: Partial<Hints> }

/** A kind without a hint does not compile. */
const HINTS: Hints = {
  ...{ ...ADVICE.usage, ...ADVICE['no-profiles'], ...ADVICE.key, ...ADVICE.unusable },
  ...{
    ...ADVICE['api-key'],
    ...ADVICE.service,
    ...ADVICE.partial,
    ...ADVICE.disk,
    ...ADVICE.copy,
    ...ADVICE.interrupted,
  },
}

export type Advice = Readonly<{ outcome: Outcome; message: string; hint: string }>

/** @param platform the system whose commands the hint names */
export function adviceOn(error: unknown, platform: NodeJS.Platform = process.platform): Advice {
  if (error instanceof UsageError) return { outcome: 'usage', message: error.message, hint: error.hint }
  const outcome = outcomeOf(error)
  if (!(error instanceof Failure)) {
    const message = `internal error in softsim: ${error instanceof Error ? error.message : String(error)}`
    return { outcome, message, hint: REPORT }
  }
  const { facts, message, cause } = error
  // TypeScript does not see that the hint is for these facts.
  const hint: string | ((facts: never) => string) = HINTS[facts.kind]
  return {
    outcome,
    message: MESSAGES[facts.kind] ?? message,
    hint: typeof hint === 'string' ? hint : hint({ ...facts, cause, platform } as never),
  }
}

function outcomeOf(error: unknown): Outcome {
  if (!(error instanceof Failure)) return 'bug'
  const { kind } = error.facts
  if (kind === 'undelivered' && error.cause instanceof Failure) return outcomeOf(error.cause)
  const [outcome] = Object.entries(ADVICE).find(([, hints]) => kind in hints) ?? []
  return outcome as Outcome
}

/** Where a relative path leads nowhere, a wrong current directory is the usual cause. */
function whereToLook(directory: string): string {
  const full = fullPath(directory)
  if (full === undefined) return LEAVE_DELETED
  const end = oddEnd(directory)
  if (end !== undefined) return `check -i: the name ${end}`
  const inFull = isAbsolute(directory) ? '' : `, which stands for ${full},`
  return `check -i${inFull} and ${diskPresence()}; softsim fetch creates the directory`
}

const restOf = (left: number) =>
  left > 0 ? `to fetch the rest, use -n ${left}` : 'the next fetch or next stores the rest'
