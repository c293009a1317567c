import type { Facts, PlainKind } from './advice/exit-codes.ts'

export type Fault =
  /** The file is not a valid profile file: truncated, not JSON, or under a wrong name. */
  | 'damaged'
  /** The system does not let this user read it, or can't at the moment: nobody knows what is in it. */
  | 'unreadable'
  /** The key does not decrypt it: it belongs to another key, or it is damaged. */
  | 'locked'
  /** It decrypts, but a device would reject it. */
  | 'unfit'
  /** Another program has the file open. */
  | 'held'

/**
 * A failure that the user can act on: `advice/` has the exit code and the hint of its kind. Any other error is a bug. A
 * docstring says which outcome it has (`disk`), or which kind if callers tell kinds apart.
 */
export class Failure extends Error {
  readonly facts: Facts

  /** @param message if none is given, `advice/` has the words for the kind */
  constructor(facts: Facts | PlainKind, message?: string, cause?: unknown) {
    const all = typeof facts === 'string' ? ({ kind: facts } as Facts) : facts
    super(message ?? all.kind, { cause })
    this.name = 'Failure'
    this.facts = all
  }
}

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

/** Returns the errno name of a system error (`ENOSPC`, …), or undefined for any other value. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, errno } = error as NodeJS.ErrnoException
  return UNNAMED[errno ?? 0] ?? (typeof code === 'string' ? code : undefined)
}

export function reasonOf(error: unknown): string {
  const code = errnoOf(error)
  if (code !== undefined) return ERRNO[code] ? `${ERRNO[code]} (${code})` : code
  return (error instanceof Error ? error.message : String(error)) || 'for an unknown reason'
}
