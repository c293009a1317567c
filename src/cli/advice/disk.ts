import { errnoOf } from '../../failure.ts'
import { fullPath } from '../../full-path.ts'
import { several } from '../../words.ts'
import type { Hints } from './hint.ts'
import { printingAgain } from './undelivered.ts'

const PERMIT = 'give this user permission to create, write, rename and remove files in the directory'

const REMEDIES: Record<string, string> = {
  EACCES: PERMIT,
  EBUSY: 'close the other program',
  EPERM: PERMIT,
  EDQUOT: 'free disk space',
  EFBIG: 'raise the file size limit (ulimit -f)',
  EMFILE: 'raise the limit of open files (ulimit -n)',
  ENFILE: 'close other programs',
  ENOSPC: 'free disk space',
  EROFS: 'make the file system writable',
}

/** Errors of a disk that end a call that has claimed profiles, and can be helped. */
const HELPED = ['ENOSPC', 'EDQUOT', 'EROFS', 'EFBIG']

/** What to do where a relative path leads nowhere because the current directory was deleted. */
export const LEAVE_DELETED = 'change to a directory that exists: the current one was deleted'

/** What may help against an error of a disk. */
export const remedyFor = (error: unknown, otherwise = 'check the disk') =>
  REMEDIES[errnoOf(error) ?? ''] ?? otherwise

const isFull = (error: unknown) => ['ENOSPC', 'EDQUOT'].includes(errnoOf(error) ?? '')

const remedyAt = (path: string, error: unknown, otherwise?: string) =>
  fullPath(path) === undefined ? LEAVE_DELETED : remedyFor(error, otherwise)

const AWAY = 'connect the share, or check the disk'

/** What may help if a file can't be read. Nothing is known to be wrong with it. */
function readingRemedy(error: unknown): string {
  const { path = 'the file' } = error as NodeJS.ErrnoException
  const remedy = ['EACCES', 'EPERM'].includes(errnoOf(error) ?? '')
    ? `give this user permission to read ${path}`
    : remedyFor(error, AWAY)
  return `${remedy}, then run the same command again`
}

export const DISK = {
  'all-held': ({ claims }) =>
    `close them, or exclude the directory from virus scans and backups${claims ? '; nothing was claimed' : ''}`,
  'current-directory-gone': `${LEAVE_DELETED}; nothing was claimed`,
  held: 'close the other program, then run the same command again; nothing was claimed',
  lost: 'ask the service provider for the profiles named above, which are allocated; the next fetch or next stores any that were put aside',
  'no-output': 'connect standard output to the device programmer',
  'no-reader': 'check the file or the program that receives the output',
  'no-reserve': ({ count, cause }) =>
    `${remedyFor(cause, 'free disk space or repair the disk')}; this batch of ${several(count, 'profile')} was not requested`,
  'not-claimed': ({ cause }) => `${remedyFor(innermost(cause))}; nothing was claimed`,
  'not-recorded': ({ cause }) => `${remedyFor(innermost(cause))}, then run the same command again`,
  'not-recovered': ({ directory }) =>
    `check the disk and the permissions of ${directory}, then run the same command again: the profiles are kept there`,
  'open-files':
    'raise it: ulimit -n 1024 as root, LimitNOFILE=1024 in a systemd unit, --ulimit nofile=1024 for a container; nothing was requested or claimed',
  'put-aside': 'run fetch or next again to store the profiles: they are put aside in the directory',
  'space-for-batch': 'free disk space or fetch fewer; these profiles were not requested',
  'space-for-move': 'move fewer, free space on that disk, or give -o on a larger one; nothing was moved',
  'space-for-order': 'free disk space or fetch fewer; no profiles were requested',
  'space-for-receipt': 'free disk space, or name a file on another disk; nothing was claimed',
  'torn-record': ({ path }) =>
    `run the same command again; if the device has no profile and no other call is running, delete ${path}`,
  undelivered: (facts) => {
    const reason = innermost(facts.cause)
    const first = HELPED.includes(errnoOf(reason) ?? '') ? `${remedyFor(reason)}; ` : ''
    return first + printingAgain(facts)
  },
  'unfinished-move': ({ directory, cause }) =>
    `${remedyFor(cause)}, then run the same command again: it finishes the move${isFull(cause) ? `; or take all of ${directory}, with its hidden files, to a larger disk, delete it here, and give its new place with -o` : ''}`,
  unreadable: ({ cause }) => readingRemedy(innermost(cause)),
  'unread-directory': ({ cause }) =>
    errnoOf(cause) === 'EACCES'
      ? 'give this user permission to read and search the directory'
      : `${remedyFor(cause, AWAY)}, then run the same command again`,
  'unread-receipts': ({ cause }) =>
    remedyFor(cause, 'name each file, for example: --receipts line-1.jsonl line-2.jsonl'),
  'unread-results': ({ cause }) =>
    remedyFor(cause, 'name each file, for example: --failed results-1.csv results-2.csv'),
  'unwritten-directory': ({ directory, cause }) =>
    `${remedyAt(directory, cause)}, or use -o to name another directory; no profiles were requested`,
  'unwritten-target': ({ cause }) =>
    `${remedyFor(innermost(cause))}, or give another -o; then run the same command again`,
  'unwritten-receipt': ({ path, cause }) =>
    `${remedyAt(path, cause, 'check --receipt and that its directory exists')}; nothing was claimed`,
} as const satisfies Partial<Hints>

/** The error of the system behind others. */
function innermost(error: unknown): unknown {
  return error instanceof Error && errnoOf(error) === undefined ? innermost(error.cause) : error
}
