/** Why a call ended, each with its exit code and its line in the help and the README. */
export const OUTCOMES = {
  done: [0, 'done'],
  bug: [1, 'something nobody foresaw; says how to report it'],
  usage: [2, 'the command line is wrong'],
  'no-profiles': [
    3,
    'no profiles: none unused, fewer than asked for, no such ICCID or directory; none available from the service',
  ],
  key: [4, "the private key can't be used, or does not open these profiles"],
  unusable: [5, 'profiles are there, but none that can be used'],
  'api-key': [6, 'the service does not accept the API key'],
  service: [7, 'the service or the network failed, after retries'],
  partial: [8, 'fetch stored some of the profiles, not all'],
  disk: [9, "the disk: can't read, write, flush or rename"],
  interrupted: [130, 'interrupted'],
} as const satisfies Record<string, readonly [code: number, meaning: string]>

export type Outcome = keyof typeof OUTCOMES

/** The exit code of an outcome. */
export const exitCode = (outcome: Outcome): number => OUTCOMES[outcome][0]

/**
 * A failure the user can do something about: told in one line, with an optional hint line saying what.
 * Anything else that is thrown is a bug of ours.
 */
export class Failure extends Error {
  readonly outcome: Exclude<Outcome, 'done'>
  readonly hint: string | undefined

  constructor(
    outcome: Exclude<Outcome, 'done'>,
    message: string,
    options: { hint?: string; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.name = 'Failure'
    this.outcome = outcome
    this.hint = options.hint
  }
}

/** What is wrong with one profile. */
export type Fault =
  /** The file is no stored profile: torn, not JSON, named after another one, unreadable. */
  | 'damaged'
  /** The key does not decrypt it: it is another key's profile, or damaged. */
  | 'locked'
  /** It decrypts, and a device would refuse it. */
  | 'unfit'
  /** Another program holds the file. */
  | 'held'

/** A profile that can't be handed out; the next one may well be. The message says why, about "it". */
export class UnusableProfile extends Error {
  readonly fault: Fault

  constructor(fault: Fault, message: string, options: { cause?: unknown } = {}) {
    super(message, options)
    this.name = 'UnusableProfile'
    this.fault = fault
  }
}

/** Names of the errno values a factory meets, in words. */
const ERRNO: Record<string, string> = {
  EACCES: 'permission denied',
  EBUSY: 'another program holds it',
  EDQUOT: 'the disk quota is used up',
  EEXIST: 'it exists already',
  EIO: 'the disk reports an input/output error',
  EISDIR: 'it is a directory',
  ELOOP: 'it is a symbolic link',
  EMFILE: 'too many open files',
  ENAMETOOLONG: 'the name is too long',
  ENOENT: 'no such file or directory',
  ENOSPC: 'no space left on the disk',
  ENOTDIR: 'it is not a directory',
  EPERM: 'operation not permitted',
  EPIPE: 'the reader went away',
  EROFS: 'the file system is read-only',
}

/** Linux's number for a full quota, which libuv has no name for. */
const EDQUOT = -122

/** The errno name (`ENOSPC`, …) of a system error, or undefined for any other thing thrown. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, errno } = error as NodeJS.ErrnoException
  if (errno === EDQUOT) return 'EDQUOT'
  return typeof code === 'string' ? code : undefined
}

/** What went wrong, in words, for a system error; its own message for any other. */
export function reasonOf(error: unknown): string {
  const code = errnoOf(error)
  if (code !== undefined) return ERRNO[code] ? `${ERRNO[code]} (${code})` : code
  return error instanceof Error ? error.message : String(error)
}
