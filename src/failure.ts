/** The exit code of each outcome, and its description in the help and the README. */
export const OUTCOMES = {
  done: [0, 'success'],
  bug: [1, 'internal error in softsim; the hint says how to report it'],
  usage: [2, 'invalid command line or environment variable'],
  'no-profiles': [
    3,
    'not enough profiles: none unused, fewer than requested, no such ICCID or directory, or none left at the service',
  ],
  key: [4, "the private key can't be used, or does not decrypt the profiles"],
  unusable: [5, 'there are profiles, but none of them can be used; or receipts contradict the directory'],
  'api-key': [6, 'the service does not accept the API key'],
  service: [7, 'the service or the network failed; temporary failures are retried first'],
  partial: [8, 'fetch stored some of the requested profiles, but not all'],
  disk: [9, "disk or standard output: can't read, write, flush or rename"],
  interrupted: [130, 'interrupted'],
} as const satisfies Record<string, readonly [code: number, meaning: string]>

export type Outcome = keyof typeof OUTCOMES

export const exitCode = (outcome: Outcome): number => OUTCOMES[outcome][0]

/** A failure that the user can act on. Any other error is a bug in softsim. */
export class Failure extends Error {
  readonly outcome: Exclude<Outcome, 'done'>
  /** What to do next. Each line becomes a hint of its own. */
  readonly hint: string

  constructor(
    outcome: Exclude<Outcome, 'done'>,
    message: string,
    options: { hint: string; cause?: unknown },
  ) {
    super(message, { cause: options.cause })
    this.name = 'Failure'
    this.outcome = outcome
    this.hint = options.hint
  }
}

export type Fault =
  /** The file is not a valid profile file: truncated, not JSON, under a wrong name, or unreadable. */
  | 'damaged'
  /** The key does not decrypt it: it belongs to another key, or it is damaged. */
  | 'locked'
  /** It decrypts, but a device would reject it. */
  | 'unfit'
  /** Another program has the file open. */
  | 'held'

/** A profile that can't be handed out. In the message, "it" is the profile's file. */
export class UnusableProfile extends Error {
  readonly fault: Fault

  constructor(fault: Fault, message: string, options: { cause?: unknown } = {}) {
    super(message, options)
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
  EIO: 'the disk reports an input/output error',
  EISDIR: 'it is a directory',
  ELOOP: 'it is a symbolic link',
  EMFILE: 'too many open files',
  ENAMETOOLONG: 'the name is too long',
  ENOENT: 'no such file or directory',
  ENOSPC: 'no space left on the disk',
  ENOTDIR: 'it is not a directory',
  EPERM: 'operation not permitted',
  EPIPE: 'the reader closed the pipe',
  EROFS: 'the file system is read-only',
}

const REMEDIES: Record<string, string> = {
  EACCES: 'give this user permission to create, write, rename and remove files in the directory',
  EPERM: 'give this user permission to create, write, rename and remove files in the directory',
  EDQUOT: 'free disk space',
  EFBIG: 'raise the file size limit (ulimit -f)',
  EMFILE: 'raise the limit of open files (ulimit -n)',
  ENOSPC: 'free disk space',
  EROFS: 'make the file system writable',
}

/** What may help against an error of a disk. */
export const remedyFor = (error: unknown, otherwise = 'check the disk') =>
  REMEDIES[errnoOf(error) ?? ''] ?? otherwise

/** Linux's number for a full quota. libuv has no name for it. */
const EDQUOT = -122

/** Returns the errno name of a system error (`ENOSPC`, …), or undefined for any other value. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, errno } = error as NodeJS.ErrnoException
  if (errno === EDQUOT) return 'EDQUOT'
  return typeof code === 'string' ? code : undefined
}

export function reasonOf(error: unknown): string {
  const code = errnoOf(error)
  if (code !== undefined) return ERRNO[code] ? `${ERRNO[code]} (${code})` : code
  return (error instanceof Error ? error.message : String(error)) || 'for an unknown reason'
}
