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

/** What a call that claims profiles was given. */
interface Call {
  readonly keyPath: string
  readonly directory: string
  readonly receipt: string | undefined
  /** Whether it was given an ICCID. */
  readonly isNamed: boolean
  /** Whether no device may have a profile before. */
  readonly isNew?: boolean | undefined
}

/** Failures of which the message and the cause say all that is known. */
type Plain =
  | { kind: 'current-directory-gone' | 'interrupted' | 'no-output' | 'no-reader' | 'unread-directory' }
  | { kind: 'cut-off-key' | 'escaped-line-breaks' | 'indented-key' | 'key-instead-of-file' }
  | { kind: 'lost-line-breaks' | 'missing-passphrase' | 'no-such-key' | 'other-key' | 'wrong-passphrase' }
  | {
      kind:
        | Fault
        | 'all-moved'
        | 'all-used'
        | 'being-claimed'
        | 'busy-claim'
        | 'has-profile'
        | 'no-such-profile'
        | 'others-profile'
    }
  | { kind: 'contradiction' | 'nobodys' | 'not-receipts' | 'other-receipts' | 'unread-receipts' }
  | { kind: 'not-results' | 'unread-results' }
  | { kind: 'interrupted-move' | 'moved' | 'no-move' | 'no-place' | 'none-to-move' }
  | {
      kind:
        | 'disk-away'
        | 'left-target'
        | 'nested-directories'
        | 'not-taken-back'
        | 'profile-as-target'
        | 'unwritten-target'
        | 'other-disk'
        | 'same-directory'
        | 'space-for-move'
        | 'too-few-to-move'
    }
  | { kind: 'none-checked-usable' | 'none-usable' | 'not-claimed' | 'not-recorded' | 'too-few' }
  | {
      kind: 'no-receipts' | 'open-files' | 'profile-as-receipt' | 'space-for-receipt'
    }
  | { kind: 'lost' | 'mostly-refused' | 'no-more' | 'other-path' | 'space-for-batch' | 'space-for-order' }
  | { kind: 'bad-proxy' | 'bad-url' | 'plain-http' | 'unchecked-tls' | 'user-in-url' }
  | {
      kind:
        | 'no-service'
        | 'not-a-list'
        | 'not-understood'
        | 'redirect'
        | 'refused'
        | 'refused-by-proxy'
        | 'service'
        | 'service-behind-proxy'
    }
  | { kind: 'needs-tls' | 'no-connection' | 'no-proxy' | 'proxy-login' | 'proxy-refusal' | 'tls' }
  | { kind: 'expired-certificate' | 'other-host' | 'unknown-ca' | 'too-weak' | 'wrong-clock' }

export type PlainKind = Plain['kind']

/** What is known of a failure beside its message and its cause. */
export type Facts = Readonly<
  | Plain
  | {
      kind:
        | 'empty-key'
        | 'old-pkcs12'
        | 'openssh-key'
        | 'pkcs12'
        | 'public-key'
        | 'putty-key'
        | 'retired-cipher'
      path: string
    }
  | {
      kind: 'torn-record' | 'unread-key' | 'unreadable-key' | 'unwritten-receipt' | 'utf16-key'
      path: string
    }
  /** `inFile`: how many keys its file has; `claims`: whether the call would have claimed profiles. */
  | { kind: 'wrong-key'; isDamaged: boolean; inFile: number; claims: boolean }
  | { kind: 'all-held'; claims: boolean }
  | { kind: 'received' | 'no-reserve'; count: number }
  | { kind: 'file-gone'; name: string }
  /** `below`: a directory in it that has profiles. */
  | { kind: 'no-profiles'; below: string | undefined }
  | {
      kind: 'copy' | 'no-directory' | 'unfinished-move' | 'unwritten-directory' | 'not-recovered'
      directory: string
    }
  /** `begun`: how many of the first ones a reader may have. */
  | { kind: 'undelivered'; iccids: readonly string[]; begun: number; isForDevices: boolean; call: Call }
  | { kind: 'put-aside'; stored: number; known: number }
  /** `left`: how many are neither stored nor put aside. */
  | { kind: 'interrupted-fetch' | 'partial'; left: number }
  | { kind: 'api-key'; status: number }
  | { kind: 'pause'; ms: number }
  | { kind: 'no-web-url'; text: string }
  | { kind: 'socks'; variable: string }
  /** `why`: what is wrong there. */
  | { kind: 'redirected'; to: string; why: PlainKind }
>

export type Kind = Facts['kind']

/** A failure that the user can act on: from its kind, `cli/` chooses the exit code and the hint. Any other error is a bug. */
export class Failure extends Error {
  readonly facts: Facts

  /** @param message if none is given, `cli/` has the words for the kind */
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
