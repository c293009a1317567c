import { isAbsolute } from 'node:path'
import { fullPath } from '../full-path.ts'
import { oddEnd } from '../words.ts'
import { type Context, LEAVE_DELETED } from './disk.ts'
import { asking, quote } from './shell.ts'

const RIGHT_KEY =
  'use the RSA private key that matches the public key registered with the service when the profiles were fetched'

type At = Context & { readonly path: string }

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
