/**
 * Every kind of failure: its exit code, what has to be known of it, and the hint, which says what to do next. Where a
 * failure is thrown, its message says what happened there. Which option or command helps is said only here, and in cli/.
 *
 * A new kind is an entry here; what its hint takes are the facts that a `Failure` of that kind must have.
 */
import { isAbsolute } from 'node:path'
import { fullPath } from '../full-path.ts'
import { durationOf, oddEnd, several } from '../words.ts'
import { type Context, DISK, KEY, LEAVE_DELETED } from './hints.ts'
import { diskPresence, quote, unsetting } from './shell.ts'

/** It can't be an API key, which would be repeated: the last part is short. */
const HOST = /^([a-z0-9-]{1,30}\.){1,4}[a-z]{2,12}(:\d{1,5})?(\/[a-z/]*)?$/i

const USUAL_PATH = '/sims/profiles'

/** An entry with a message of its own names an option in it, which the place that throws it does not know. */
const USAGE = {
  'bad-proxy': 'use the form http://proxy.example:8080',
  'bad-url': {
    message: 'the value of --url is not a valid URL',
    hint: 'check its host and its port: a host contains no space, and a port is at most 65535',
  },
  'key-instead-of-file': {
    message: '--key takes a file name, but this value looks like the key itself',
    hint: ({ platform }: Context) =>
      // `set` and `echo` of cmd would lose its line breaks.
      `save the key to a file, or send it to standard input: ${platform === 'win32' ? 'in PowerShell $env:KEY' : 'printenv KEY'} | softsim next -k -`,
  },
  'nested-directories': 'give directories side by side; nothing was moved',
  'no-receipts': 'name a new file, such as receipt.jsonl; nothing was claimed',
  'no-receipts-read':
    'name the files of receipts of all stations; if nothing was handed out or moved since the backup or the copy, use --without-receipts; nothing was changed',
  'not-receipts':
    'name the files that next and move --receipt have written, as they are; do not join them with >> of Windows PowerShell',
  'not-results': 'name the files that the scripts of the stations have written: results.csv',
  'no-web-url': {
    message: 'the value of --url is not an http or https URL',
    hint: ({ text }: Context & { text: string }) =>
      HOST.test(text)
        ? `did you mean https://${text}${text.includes('/') ? '' : USUAL_PATH}?`
        : 'see softsim help fetch',
  },
  'plain-http': 'use https; plain http is allowed only to this machine (127.0.0.1, ::1, localhost)',
  'profile-as-receipt': 'name a file such as receipt.jsonl; nothing was claimed',
  'profile-as-target': 'check -o; nothing was moved',
  'same-directory': 'check -i and -o; nothing was moved',
  socks: ({ variable, platform }: Context & { variable: string }) =>
    `set ${variable} to an HTTP proxy, in the form http://proxy.example:8080; without a proxy: ${unsetting(variable, platform)}`,
  'unchecked-tls': ({ platform }: Context) =>
    `${unsetting('NODE_TLS_REJECT_UNAUTHORIZED', platform)}; if the service uses its own CA, set NODE_EXTRA_CA_CERTS to the CA certificate file`,
  'user-in-url': {
    message: '--url must not contain a user name or a password',
    hint: 'remove them, and set SOFTSIM_API_KEY to the API key',
  },
} as const

const NO_PROFILES = {
  'all-moved':
    'all profiles in it are used or moved, which softsim status counts: check -i, or fetch more: see softsim help fetch',
  'all-used': 'all profiles in it are used; fetch more: see softsim help fetch',
  'being-claimed': 'run the same command again, after a minute if that call was killed',
  'busy-claim': 'run this command again; if no other call is running, see softsim status',
  'disk-away':
    'connect that disk, check -o, and run the same command again: it finishes the move; --back takes all of it back if nothing is stored there yet',
  'has-profile':
    'scan the device again; if it is the right one, leave out --new or --iccid: the same profile is printed again; nothing was claimed',
  'left-target': 'the other directory has used them: are -i and -o swapped? nothing was moved',
  moved: 'give that directory with -i; if the move was interrupted, run it again',
  'not-a-directory': 'check -i: it takes the directory of the profiles',
  'no-directory': ({ directory }: Context & { directory: string }) => whereToLook(directory),
  'no-more': 'ask the service provider for more profiles; if your account should have some, check --url',
  /** `to`: where a move goes that is not finished. */
  'no-move': ({ to }: Context & { to: string | undefined }) =>
    to === undefined ? 'check -i and -o' : `did you mean -o ${quote(to)}?`,
  'no-place': ({ platform }: Context) => `check -o and ${diskPresence(platform)}; nothing was moved`,
  /** `below`: a directory in it that has profiles. */
  'no-profiles': ({ below }: Context & { below: string | undefined }) =>
    below === undefined
      ? `check -i and ${diskPresence()}, or download profiles with softsim fetch`
      : `did you mean -i ${quote(below)}?`,
  nobodys: 'check the serial number, in which case matters, or the ICCID; softsim status --devices lists all',
  'none-to-move': 'the warnings say why, file by file',
  'no-such-profile': 'check the ICCID and -i',
  'not-taken-back': 'run the move again: it finishes; then swap -i and -o to move home what is unused there',
  'other-disk':
    'connect the disk that it began with; to move profiles to this one, give another name with -o; --back takes all of it back if nothing is stored there yet',
  'other-path':
    'check --url: the path is usually /sims/profiles; if it is right, ask the service provider for more profiles',
  'other-receipts': 'check -i; a new directory, with other profiles, needs no comparison',
  'others-profile': 'check the serial number and the ICCID; nothing was claimed',
  received: ({ count }: Context & { count: number }) =>
    `${several(count, 'profile')} that a running or interrupted call received will be stored: when it ends, or ten minutes after it was interrupted, by the next call`,
  'too-few':
    'softsim status -k counts those that can be used; take fewer, or fetch more; nothing was claimed',
  'too-few-to-move': 'move fewer, or use --all; these were not moved',
} as const

const UNUSABLE = {
  contradiction:
    'softsim restore --receipts marks as used what is unused; for a device of several ICCIDs, and an ICCID of several devices, see the manual of softsim restore',
  damaged:
    'copy the file from a backup, or ask the service provider for another profile; nothing was claimed',
  'file-gone': ({ name }: Context & { name: string }) => `put ${name} or its used file back`,
  'none-checked-usable': 'the warnings say why, file by file',
  'none-usable': 'see the warning for each file; nothing was claimed',
  unfit: 'take another profile, and tell the service provider about this one; nothing was claimed',
} as const

const CHECK_PROXY =
  'check HTTPS_PROXY, or the variable that stands for it, and make sure that the proxy is running'

const SERVICE = {
  'expired-certificate': 'check the clock of this machine; if it is right, tell the operator of the service',
  'mostly-refused':
    'tell the operator of the service; the answers are put aside in the files that the warnings name',
  'needs-tls': 'check --url and the network of this machine; does this port need https?',
  'no-connection': 'check --url and the network of this machine',
  'no-proxy': CHECK_PROXY,
  'no-service':
    '--url is wrong, or a proxy or a login page has answered: the answer is a web page, and the service does not send any',
  'not-a-list': 'check --url: something else may have answered',
  'not-understood':
    'check --url: something else may answer there; if it is right, look for a newer softsim, or tell the operator of the service',
  'other-host': 'check --url',
  'proxy-login': 'set them in HTTPS_PROXY, in the form http://user:password@proxy.example:8080',
  'proxy-refusal':
    'ask the operator of the proxy to allow it, or, if the proxy is not needed, add the host to NO_PROXY',
  redirect: 'if you trust the new address, give it with --url; the API key was not sent there',
  refused:
    'check the host and the port in --url, and whether a firewall refuses the connection; if they are right, try again later',
  'refused-by-proxy': CHECK_PROXY,
  service: 'check --url, and try again later; if that does not help, tell the operator of the service',
  'service-behind-proxy': 'check --url; if it is right, ask the operator of the proxy',
  tls: 'check the scheme, the host and the port in --url',
  'too-weak':
    'ask the operator of the service for a stronger certificate; if a proxy replaces the certificate, ask the operator of the proxy',
  'unknown-ca': () => {
    const file = process.env['NODE_EXTRA_CA_CERTS']
    return file
      ? `NODE_EXTRA_CA_CERTS is set to ${file}, but the CA of this certificate is not in it: add it if you trust it`
      : 'if a proxy or a test service uses its own CA, set NODE_EXTRA_CA_CERTS to the CA certificate file, or add it to those that this system trusts'
  },
  'wrong-clock': 'check the clock of this machine',
} as const

/** What can be wrong with the file of a key. */
export type KeyKind = Exclude<keyof typeof KEY, 'wrong-key'>

/** What can be wrong at an address. */
export type ServiceKind = keyof typeof SERVICE

/** Each outcome: its exit code, what the help and the manual say of it, and its kinds of failures. */
export const OUTCOMES = {
  done: [0, 'success', {}],
  bug: [1, 'internal error in softsim; the hint says how to report it', {}],
  usage: [2, 'invalid command line or environment variable', USAGE],
  'no-profiles': [
    3,
    'not enough profiles: none unused, fewer than requested, no such ICCID or directory, or none left at the service',
    NO_PROFILES,
  ],
  key: [4, "the private key can't be used, or does not decrypt the profiles", KEY],
  unusable: [
    5,
    'there are profiles, but none of them can be used; or receipts contradict the directory',
    UNUSABLE,
  ],
  'api-key': [
    6,
    'the service does not accept the API key',
    {
      'api-key': ({ status }: Context & { status: number }) =>
        `set SOFTSIM_API_KEY to an API key for SoftSIM profiles${status === 403 ? ', or correct --url: another address may answer 403 too' : ''}`,
    },
  ],
  service: [
    7,
    'the service or the network failed; temporary failures are retried first',
    {
      ...SERVICE,
      pause: ({ ms }: Context & { ms: number }) => `run fetch again in ${durationOf(ms)}`,
      /** `why`: what is wrong at the address `to`. */
      redirected: ({ to, why, hintOn }: Context & { to: string; why: ServiceKind }) =>
        `the service redirected to ${to}; ${hintOn(why)}`,
    },
  ],
  partial: [
    8,
    'fetch stored some of the requested profiles, but not all',
    { partial: ({ left, cause, hintOn }: Context & Left) => `${hintOn(cause)}; ${restOf(left)}` },
  ],
  disk: [9, "disk or standard output: can't read, write, flush or rename", DISK],
  copy: [
    10,
    'the directory of profiles is a copy, or came back from a backup',
    {
      copy: ({ directory, platform }: Context & { directory: string }) =>
        `nothing was claimed; use the directory that it was copied from, or, if that is gone: softsim restore -i ${quote(directory, platform)} --receipts FILE... (the receipts of all stations and moves)`,
      'copy-of': ({ original }: Context & { original: string }) =>
        `use ${original}; if it must never be used again, rename it or unmount its disk, then run the same command again`,
    },
  ],
  interrupted: [
    130,
    'interrupted',
    {
      interrupted: 'run the same command again',
      'interrupted-move': 'run the same command again: it finishes the move',
      'interrupted-fetch': ({ left }: Context & Left) => restOf(left),
    },
  ],
} as const

export type Outcome = keyof typeof OUTCOMES

export const exitCode = (outcome: Outcome): number => OUTCOMES[outcome][0]

/** What a hint takes, beside the context. */
type FactsFor<Hint> = Hint extends { hint: infer H }
  ? FactsFor<H>
  : Hint extends (facts: infer F) => string
    ? Readonly<Omit<F, keyof Context>>
    : Record<never, never>

type FactsIn<Hints> = Hints extends unknown
  ? { [K in keyof Hints]: { readonly kind: K } & FactsFor<Hints[K]> }[keyof Hints]
  : never

/** What is known of a failure beside its message and its cause. */
export type Facts = FactsIn<(typeof OUTCOMES)[Outcome][2]>

export type Kind = Facts['kind']

/** The kinds of which the message and the cause say all that is known. */
export type PlainKind = { [F in Facts as F['kind']]: keyof F extends 'kind' ? F['kind'] : never }[Kind]

interface Left {
  /** How many are neither stored nor put aside. */
  readonly left: number
}

const restOf = (left: number) =>
  left > 0 ? `to fetch the rest, use -n ${left}` : 'the next fetch or next stores the rest'

/** Where a relative path leads nowhere, a wrong current directory is the usual cause. */
function whereToLook(directory: string): string {
  const full = fullPath(directory)
  if (full === undefined) return LEAVE_DELETED
  const end = oddEnd(directory)
  if (end !== undefined) return `check -i: the name ${end}`
  const inFull = isAbsolute(directory) ? '' : `, which stands for ${full},`
  return `check -i${inFull} and ${diskPresence()}; softsim fetch creates the directory`
}
