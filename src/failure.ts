/** What a person can act on: an outcome, what happened, and what to do next. Any other error is a bug of softsim. */

/** The exit codes, by which a script can branch. The help and the manual show this table. */
export const EXIT_CODES = {
  done: [0, 'success'],
  bug: [1, 'internal error in softsim; the hint says how to report it'],
  usage: [2, 'invalid command line or environment variable'],
  'no-profiles': [
    3,
    'not enough profiles: none unused, fewer than requested, no such ICCID or directory, or none left at the service',
  ],
  key: [4, "the private key can't be used, or does not decrypt the profiles"],
  unusable: [
    5,
    "there are profiles, but none of them can be used; or the profile of a device can't; or receipts contradict the directory",
  ],
  'api-key': [6, 'the service does not accept the API key'],
  service: [7, 'the service or the network failed; temporary failures are retried first'],
  partial: [8, 'fetch stored not all of the requested profiles, or a device of the station has not passed'],
  disk: [9, "disk or standard output: can't read, write, flush or rename"],
  copy: [10, 'the directory of profiles is a copy, or came back from a backup'],
  'has-profile': [11, 'the device has a profile already, with --new, or another one than --iccid names'],
  interrupted: [130, 'interrupted'],
} as const satisfies Record<string, readonly [code: number, words: string]>

export const exitCode = (outcome: Outcome): number => EXIT_CODES[outcome][0]

/** The rows of the table. */
export type Outcome = keyof typeof EXIT_CODES

export class Failure extends Error {
  readonly outcome: Outcome
  readonly hint: string

  /**
   * @param message what happened, in one line
   * @param hint what to do next
   */
  constructor(outcome: Outcome, message: string, hint: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'Failure'
    this.outcome = outcome
    this.hint = hint
  }
}

/** A mistake in what was typed, or in the environment. */
export class UsageError extends Failure {
  constructor(message: string, hint: string) {
    super('usage', message, hint)
  }
}

export type Fault =
  /** The file is not a valid profile file: truncated, not JSON, or under a wrong name. */
  | 'damaged'
  /** The system does not let this user read it, or can't at the moment: nobody knows what is in it. */
  | 'unreadable'
  /** The key does not decrypt it: it belongs to another key, or it is damaged. */
  | 'locked'
  /** It decrypts, but a device would reject it. */
  | 'unfit'

/** A profile that can't be handed out. In the message, "it" is the profile's file. */
export class UnusableProfile extends Error {
  readonly fault: Fault

  constructor(fault: Fault, message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'UnusableProfile'
    this.fault = fault
  }
}

const ERRNO: Record<string, string> = {
  EACCES: 'permission denied',
  EBUSY: 'in use by another program',
  EDQUOT: 'the disk quota is exceeded',
  EEXIST: 'it already exists',
  EFBIG: 'the file would be too large',
  EHOSTDOWN: 'the file server is down',
  EIO: 'the disk reports an input/output error',
  EISDIR: 'it is a directory',
  EINVAL: 'the file system refuses it',
  ELOOP: 'it is a symbolic link',
  EMFILE: 'too many open files',
  ENAMETOOLONG: 'the name is too long',
  ENFILE: 'too many open files on this machine',
  ENOENT: 'no such file or directory',
  ENOSPC: 'no space left on the disk',
  ENOTDIR: 'it is not a directory',
  EPERM: 'operation not permitted',
  EPIPE: 'the reader closed the pipe',
  EROFS: 'the file system is read-only',
  ESTALE: 'the file server does not know it any more',
  ETIMEDOUT: 'the file server does not answer in time',
}

/** Linux's numbers of errors for which libuv has no name. */
const UNNAMED: Readonly<Record<number, string>> = { [-116]: 'ESTALE', [-122]: 'EDQUOT' }

/** Returns the errno name of a system error (`ENOSPC`, …), or undefined for any other value, such as a TypeError. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, errno } = error as NodeJS.ErrnoException
  return (
    UNNAMED[errno ?? 0] ?? (typeof code === 'string' && /^(E(?!RR_)|UNKNOWN$)/.test(code) ? code : undefined)
  )
}

/** Does what need not succeed: errors of the system are passed over. */
export function ifPossible(action: () => void): void {
  try {
    action()
  } catch (error) {
    ignoreIfSystem(error)
  }
}

/** Passes over an error of the system. @throws any other error */
export function ignoreIfSystem(error: unknown): void {
  if (errnoOf(error) === undefined) throw error
}

export function reasonOf(error: unknown): string {
  const code = errnoOf(error)
  if (code !== undefined) return ERRNO[code] ? `${ERRNO[code]} (${code})` : code
  return (error instanceof Error ? error.message : String(error)) || 'for an unknown reason'
}

const RIGHTS =
  'give this user permission to create, write, rename and remove files in the directory and its hidden ones'

const DISK_HINTS: Record<string, string> = {
  EACCES: RIGHTS,
  EDQUOT: 'make room, or raise the quota of this user',
  EMFILE: 'raise the limit of open files, for example with ulimit -n 4096',
  ENOSPC: 'make room on the disk',
  ENOTDIR: 'check the name: a directory is needed, and there is a file',
  EPERM: RIGHTS,
  EROFS: 'mount the file system so that it can be written; after a disk error, check the disk first',
}

/**
 * The failure of a disk.
 * @param what such as `can't read the directory profiles`
 * @param error a system error. Any other one is a bug, and is returned as it is
 */
export function diskFailure(what: string, error: unknown, hint?: string): Error {
  if (error instanceof Failure) return error
  const code = errnoOf(error)
  if (code === undefined) return error instanceof Error ? error : new Error(String(error))
  const help = DISK_HINTS[code] ?? 'check the disk or the share, and run the same command again'
  return new Failure('disk', `${what}: ${reasonOf(error)}`, hint ?? help, error)
}
