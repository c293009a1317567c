/** What helps against a failure of a disk, and of a private key. */
import { isAbsolute } from 'node:path'
import { fullPath } from '../full-path.ts'
import { oddEnd, several } from '../words.ts'
import { asking, quote } from './shell.ts'

/** What a hint is given beside the facts of its failure. */
export interface Context {
  readonly cause: unknown
  /** The errno name of the system error behind it (`ENOSPC`, …), and the file that it names. */
  readonly errno: string | undefined
  readonly file: string | undefined
  /** The system whose commands the hint names. */
  readonly platform: NodeJS.Platform
  /** The hint for another failure, or for its kind. */
  readonly hintOn: (failure: unknown) => string
}

/** What a call that claims profiles was given. */
interface Call {
  readonly keyPath: string
  readonly directory: string
  readonly receipt: string | undefined
  /** Whether it was given an ICCID. */
  readonly isNamed: boolean
  /** Whether no device may have a profile before. */
  readonly isNew?: boolean | undefined
  readonly format: string
  readonly options: Readonly<Record<'smsp' | 'smsc' | 'crc', boolean>>
}

/** Profiles that are marked used and were not printed. */
interface Undelivered {
  readonly iccids: readonly string[]
  /** How many of the first ones a reader may have. */
  readonly begun: number
  readonly isForDevices: boolean
  readonly call: Call
}

type In = Context & { readonly directory: string }
type At = Context & { readonly path: string }

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
const remedyFor = (errno = '', otherwise = 'check the disk') => REMEDIES[errno] ?? otherwise

const remedyAt = (path: string, errno: string | undefined, otherwise?: string) =>
  fullPath(path) === undefined ? LEAVE_DELETED : remedyFor(errno, otherwise)

const AWAY = 'connect the share, or check the disk'

export const DISK = {
  'all-held': ({ claims }: Context & { claims: boolean }) =>
    `close them, or exclude the directory from virus scans and backups${claims ? '; nothing was claimed' : ''}`,
  'current-directory-gone': `${LEAVE_DELETED}; nothing was claimed`,
  held: 'close the other program, then run the same command again; nothing was claimed',
  lost: 'ask the service provider for the profiles named above, which are allocated; the next fetch or next stores any that were put aside',
  'no-output': 'connect standard output to the device programmer',
  'no-reader': 'check the file or the program that receives the output',
  'no-reserve': ({ count, errno }: Context & { count: number }) =>
    `${remedyFor(errno, 'free disk space or repair the disk')}; this batch of ${several(count, 'profile')} was not requested`,
  'not-claimed': ({ errno }: Context) => `${remedyFor(errno)}; nothing was claimed`,
  'not-recorded': ({ errno }: Context) => `${remedyFor(errno)}, then run the same command again`,
  'not-recovered': ({ directory }: In) =>
    `check the disk and the permissions of ${directory}, then run the same command again: the profiles are kept there`,
  'open-files':
    'raise it: ulimit -n 1024 as root, LimitNOFILE=1024 in a systemd unit, --ulimit nofile=1024 for a container; nothing was requested or claimed',
  'put-aside': 'run fetch or next again to store the profiles: they are put aside in the directory',
  receiving:
    'when no fetch or move runs, wait ten minutes, then run the same command again: it stores them first',
  'space-for-batch': 'free disk space or fetch fewer; these profiles were not requested',
  'space-for-move': 'move fewer, free space on that disk, or give -o on a larger one; nothing was moved',
  'space-for-order': 'free disk space or fetch fewer; no profiles were requested',
  'space-for-receipt': 'free disk space, or name a file on another disk; nothing was claimed',
  'torn-record': ({ path }: At) =>
    `run the same command again; if the device has no profile and no other call is running, delete ${path}`,
  undelivered: ({ errno = '', ...facts }: Context & Undelivered) =>
    `${HELPED.includes(errno) ? `${remedyFor(errno)}; ` : ''}${printingAgain(facts)}`,
  'unfinished-move': ({ directory, errno }: In) =>
    `${remedyFor(errno)}, then run the same command again: it finishes the move${errno === 'ENOSPC' || errno === 'EDQUOT' ? `; or take all of ${directory}, with its hidden files, to a larger disk, delete it here, run softsim restore --without-receipts for its new place, and give that with -o` : ''}`,
  // Nothing is known to be wrong with a file that can't be read.
  unreadable: ({ errno, file = 'the file', platform }: Context) => {
    const others = platform === 'win32' ? '' : ' (chown -R the directory if root has used it)'
    const permit = `give this user permission to read ${file}${others}`
    return `${REMEDIES[errno ?? ''] === PERMIT ? permit : remedyFor(errno, AWAY)}, then run the same command again`
  },
  'unread-directory': ({ errno }: Context) =>
    errno === 'EACCES'
      ? 'give this user permission to read and search the directory'
      : `${remedyFor(errno, AWAY)}, then run the same command again`,
  'unread-receipts': ({ errno }: Context) =>
    remedyFor(errno, 'name each file, for example: --receipts line-1.jsonl line-2.jsonl'),
  'unread-results': ({ errno }: Context) =>
    remedyFor(errno, 'name each file, for example: --failed results-1.csv results-2.csv'),
  'unwritten-directory': ({ directory, errno }: In) =>
    `${remedyAt(directory, errno)}, or use -o to name another directory; no profiles were requested`,
  'unwritten-target': ({ errno }: Context) =>
    `${remedyFor(errno)}, or give another -o; then run the same command again`,
  'unwritten-receipt': ({ path, errno }: At) =>
    `${remedyAt(path, errno, 'check --receipt and that its directory exists')}; nothing was claimed`,
} as const

function printingAgain({ iccids, begun, isForDevices, call }: Undelivered): string {
  if (isForDevices)
    return `run the same command again${call.isNew ? ', without --new' : ''}: each device gets the same profile`
  const isOne = iccids.length === 1
  const which = isOne ? iccids[0] : '<ICCID>'
  const receipt = call.receipt === undefined ? '' : ` --receipt ${quote(call.receipt)}`
  const again = `softsim next -k ${quote(call.keyPath)} -i ${quote(call.directory)} --iccid ${which}${receipt}${formatOf(call)}`
  // Without an ICCID, the same command would use up one profile after the other.
  const not = call.isNamed
    ? ''
    : `do not run the same command again: it takes ${isOne ? 'another profile' : 'other profiles'}; `
  if (begun === 0) return `${not}to print ${isOne ? 'it' : 'each of them'} again: ${again}`
  if (isOne) return `${not}find out whether a device has it; if none has it, print it again: ${again}`
  return begun < iccids.length
    ? `${not}to print each that was not delivered again: ${again}; the first ${begun} only if no device has them`
    : `${not}find out which of them a device has; to print each of the others again: ${again}`
}

/** The device must get the same bytes. */
const formatOf = ({ format, options: { smsp, smsc, crc } }: Call) =>
  `${format === 'hex' ? '' : ` --format=${format}`}${smsp ? ' --smsp' : ''}${smsc ? '' : ' --no-smsc'}${crc ? '' : ' --no-crc'}`

const RIGHT_KEY =
  'use the RSA private key that matches the public key registered with the service when the profiles were fetched'

interface WrongKey {
  readonly isDamaged: boolean
  /** How many keys its file has. */
  readonly inFile: number
  /** Whether the call would have claimed profiles. */
  readonly claims: boolean
}

export const KEY = {
  'cut-off-key': 'copy it again',
  'empty-key': ({ path }: At) =>
    /^(-$|\/dev\/|\/proc\/)/.test(path)
      ? 'the command that prints the key has printed nothing: try it alone, such as: gpg -d softsim.pem.gpg'
      : 'copy the private key to it again',
  'escaped-line-breaks': 'put a line break in place of each "\\n"',
  'indented-key': 'remove them',
  locked: RIGHT_KEY,
  'lost-line-breaks':
    'copy it again with all of them; at least, put one after "-----BEGIN ... KEY-----" and one before "-----END"',
  'missing-passphrase': ({ platform }: Context) => `set it: ${asking('SOFTSIM_KEY_PASSPHRASE', platform)}`,
  'no-such-key':
    'check -k: its value is the file of the private key; it is not repeated here, because it looks like an API key',
  'old-pkcs12': (facts: At) => extracting('pkcs12 -legacy', fileOf(facts)),
  'openssh-key': (facts: At) => {
    // ssh-keygen rejects a key that other users can read.
    const first = facts.platform === 'win32' ? '' : `chmod 600 ${fileOf(facts)} && `
    return `convert it to PEM in place: ${first}ssh-keygen -p -m PEM -f ${fileOf(facts)}`
  },
  'other-key': RIGHT_KEY,
  pkcs12: (facts: At) => extracting('pkcs12', fileOf(facts)),
  'public-key': ({ path }: At) =>
    path.endsWith('.pub')
      ? `use the private key, which is probably in ${path.slice(0, -'.pub'.length)}`
      : RIGHT_KEY,
  'putty-key': (facts: At) =>
    facts.platform === 'win32'
      ? 'in PuTTYgen, use Conversions > Export OpenSSH key and save it as softsim.pem; then run: ssh-keygen -p -m PEM -f softsim.pem'
      : `convert it: puttygen ${fileOf(facts)} -O private-openssh -o softsim.pem && ssh-keygen -p -m PEM -f softsim.pem`,
  'retired-cipher': (facts: At) =>
    `encrypt it with another one: openssl pkey -provider legacy -provider default -in ${fileOf(facts)} -aes256 -out softsim.aes.pem`,
  'unread-key': ({ path, errno }: At) => unread(path, errno),
  'unreadable-key': (facts: At) => `check it: openssl pkey -check -noout -in ${fileOf(facts)}`,
  'utf16-key': (facts: At) =>
    facts.platform === 'win32'
      ? `convert it: in PowerShell, Get-Content ${fileOf(facts)} | Set-Content -Encoding ascii softsim.ascii.pem`
      : `convert it: (umask 077; iconv -f UTF-16 -t ASCII ${fileOf(facts)} > softsim.ascii.pem)`,
  'wrong-key': ({ isDamaged, inFile, claims }: Context & WrongKey) => {
    const others = inFile > 1 ? `only the first of the ${inFile} keys in its file was tried; ` : ''
    const what = isDamaged ? 'the private key is damaged: copy it again' : others + RIGHT_KEY
    return claims ? `${what}; nothing was claimed` : what
  },
  'wrong-passphrase': 'check the passphrase (SOFTSIM_KEY_PASSPHRASE)',
} as const

const extracting = (command: string, file: string) =>
  `extract the key from it: openssl ${command} -in ${file} -nocerts -nodes -out softsim.key.pem`

/** For a command. */
const fileOf = ({ path, platform }: At) => quote(path === '-' ? 'softsim.pem' : path, platform)

function unread(path: string, errno: string | undefined): string {
  const full = fullPath(path)
  if (full === undefined) return LEAVE_DELETED
  const end = oddEnd(path)
  if (errno === 'ENOENT' && end !== undefined) return `check -k: the name ${end}`
  if (errno === 'ENOENT' && !isAbsolute(path))
    return `check -k and the current directory: there is no ${full}`
  if (errno === 'EACCES') return 'give this user permission to read the file'
  return 'check -k: its value is the file of the private key'
}
