import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { errnoOf, Failure } from '../failure.ts'
import { asking, fromPutty, keepingPrivate, quote, toAscii } from '../words.ts'
import { noteKeys, RIGHT_KEY } from './wrong-key.ts'

/**
 * Reads an RSA private key: PKCS#1 or PKCS#8 (RFC 8017 A.1.2, RFC 5208), PEM or DER.
 * @param path the file that messages and hints name; `-` for standard input
 * @param passphrase for an encrypted key; undefined or empty if there is none
 * @param platform the system whose commands hints name
 * @throws {Failure} `key`, with a hint that says how to fix it
 */
export function parsePrivateKey(
  bytes: Buffer,
  path: string,
  passphrase: string | undefined,
  platform: NodeJS.Platform = process.platform,
): KeyObject {
  const name = path === '-' ? 'standard input' : path
  const secret = passphrase ? { passphrase } : {}
  const attempts = isPem(bytes)
    ? [() => createPrivateKey({ key: bytes, ...secret })]
    : (['pkcs8', 'pkcs1'] as const).map(
        (type) => () => createPrivateKey({ key: bytes, format: 'der', type, ...secret }),
      )
  const errors: unknown[] = []
  for (const attempt of attempts) {
    try {
      const key = checked(attempt(), name)
      noteKeys(key, bytes.toString('latin1'))
      return key
    } catch (error) {
      if (error instanceof Failure) throw error
      errors.push(error)
    }
  }
  const file = path === '-' ? 'softsim.pem' : path
  throw diagnosis({ bytes, name, file, passphrase, errors, platform })
}

const isPem = (bytes: Buffer) => bytes.includes('-----BEGIN ')

function checked(key: KeyObject, name: string): KeyObject {
  if (key.asymmetricKeyType !== 'rsa') throw notRsa(name, key.asymmetricKeyType ?? 'unknown')
  return key
}

const notRsa = (name: string, type: string) =>
  keyFailure(`${name} is a key of type ${type}; decryption needs an RSA key`, RIGHT_KEY)

const keyFailure = (message: string, hint: string) => new Failure('key', message, { hint })

/** What can't be read as a private key: its name for messages, and its file for the commands in hints. */
interface Unreadable {
  readonly bytes: Buffer
  readonly name: string
  readonly file: string
  readonly passphrase: string | undefined
  readonly errors: readonly unknown[]
  readonly platform: NodeJS.Platform
}

function diagnosis({ bytes, name, file, passphrase, errors, platform }: Unreadable): Failure {
  const text = bytes.toString('latin1')
  if (bytes.length === 0) return keyFailure(`${name} is empty`, RIGHT_KEY)
  if (isUtf16(bytes)) return keyFailure(`${name} is a text file in UTF-16`, toAscii(file, platform))
  if (NO_LINE_BREAKS.test(text)) {
    return keyFailure(
      `the key in ${name} has lost its line breaks`,
      text.includes('\\n')
        ? 'put a line break in place of each "\\n"'
        : 'copy it again with all of them; at least, put one after "-----BEGIN ... KEY-----" and one before "-----END"',
    )
  }
  if (/^[ \t>]+-----(BEGIN|END)/m.test(text))
    return keyFailure(`the lines of ${name} begin with spaces or with ">"`, 'remove them')
  if (/-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/.test(text) && !/^-----END .*-----/m.test(text))
    return keyFailure(`${name} is cut off: the END line is missing`, 'copy it again')
  if (isPkcs12(bytes)) {
    const legacy = text.includes(RC2) ? ' -legacy' : ''
    return keyFailure(
      `${name} is a PKCS#12 bundle`,
      `extract the key from it: openssl pkcs12${legacy} -in ${quote(file, platform)} -nocerts -nodes -out softsim.key.pem`,
    )
  }
  if (text.includes('BEGIN OPENSSH PRIVATE KEY')) return openSsh(text, name, file, platform)
  if (passphrase && errors.some((error) => errnoOf(error) === 'ERR_OSSL_EVP_UNSUPPORTED')) {
    return keyFailure(
      `${name} is encrypted with a cipher that OpenSSL has retired`,
      `encrypt it with another one: openssl pkey -provider legacy -provider default -in ${quote(file, platform)} -aes256 -out softsim.aes.pem`,
    )
  }
  if (isEncrypted(text, errors)) {
    return passphrase
      ? keyFailure(`the passphrase does not decrypt ${name}`, 'check SOFTSIM_KEY_PASSPHRASE')
      : keyFailure(
          `${name} is protected with a passphrase, but none was given`,
          `set it: ${asking('SOFTSIM_KEY_PASSPHRASE', platform)}`,
        )
  }
  if (/BEGIN (RSA |SSH2 )?PUBLIC KEY|^(ssh|ecdsa)-\S+ AAAA/m.test(text) || isDerPublicKey(bytes)) {
    return keyFailure(
      `${name} is a public key; decryption needs the private key`,
      file.endsWith('.pub')
        ? `use the private key, which is probably in ${file.slice(0, -'.pub'.length)}`
        : RIGHT_KEY,
    )
  }
  if (isCertificate(bytes)) {
    return keyFailure(
      `${name} is a certificate; decryption needs the private key that belongs to it`,
      'extract it from the PKCS#12 bundle: openssl pkcs12 -in bundle.p12 -nocerts -nodes -out softsim.pem',
    )
  }
  if (text.startsWith('PuTTY-User-Key-File')) {
    return keyFailure(`${name} is in PuTTY's own format`, fromPutty(file, platform))
  }
  return keyFailure(
    `${name} is not a readable private key (PKCS#1 or PKCS#8, PEM or DER)`,
    `check it: openssl pkey -check -noout -in ${quote(file, platform)}`,
  )
}

/** Windows PowerShell writes UTF-16 with `>`. A key in DER begins with another byte than a byte order mark. */
const isUtf16 = (bytes: Buffer) =>
  /^(?:\xff\xfe|\xfe\xff)/.test(bytes.toString('latin1', 0, 2)) ||
  bytes.includes(Buffer.from('BEGIN', 'utf16le').subarray(0, -1))

const NO_LINE_BREAKS = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[ \t]*(?:[^\r\n]|\r(?!\n))/

/** In DER or BER, a sequence that begins with version 3 (RFC 7292 4). */
function isPkcs12(bytes: Buffer): boolean {
  const [tag, length = 0] = bytes
  const at = 2 + (length > 0x80 ? length - 0x80 : 0)
  return tag === 0x30 && bytes.toString('hex', at, at + 3) === '020103'
}

/** The object identifier of the cipher of old bundles (RFC 7292 C). OpenSSL 3 reads it only with `-legacy`. */
const RC2 = Buffer.from('2a864886f70d010c0106', 'hex').toString('latin1')

/** OpenSSH's own format names the type of the key in its first bytes (PROTOCOL.key in its sources). */
function openSsh(text: string, name: string, file: string, platform: NodeJS.Platform): Failure {
  const body = /BEGIN OPENSSH PRIVATE KEY-----([^-]*)/.exec(text)?.[1] ?? ''
  const type = /ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-[a-z0-9]+/.exec(
    Buffer.from(body, 'base64').toString('latin1'),
  )?.[0]
  if (type !== undefined && type !== 'ssh-rsa') return notRsa(name, type)
  // ssh-keygen rejects a key that other users can read.
  const first = keepingPrivate(file, platform)
  return keyFailure(
    `${name} is in OpenSSH's own format`,
    `convert it to PEM in place: ${first}ssh-keygen -p -m PEM -f ${quote(file, platform)}`,
  )
}

/** The object identifier of PBES2 (RFC 8018 A.4) in DER. An encrypted PKCS#8 key begins with it. */
const PBES2 = Buffer.from('2a864886f70d01050d', 'hex').toString('latin1')

function isEncrypted(text: string, errors: readonly unknown[]): boolean {
  // One wrong passphrase in 256 seems to decrypt, and the error is another one then.
  if (text.slice(0, 64).includes(PBES2)) return true
  if (/BEGIN ENCRYPTED PRIVATE KEY|Proc-Type: 4,ENCRYPTED/.test(text)) return true
  return errors.some((error) => {
    const code = errnoOf(error)
    return code === 'ERR_MISSING_PASSPHRASE' || code === 'ERR_OSSL_BAD_DECRYPT'
  })
}

const isDerPublicKey = (bytes: Buffer) =>
  (['spki', 'pkcs1'] as const).some((type) =>
    succeeds(() => createPublicKey({ key: bytes, format: 'der', type })),
  )

const isCertificate = (bytes: Buffer) => succeeds(() => new X509Certificate(bytes))

function succeeds(action: () => unknown): boolean {
  try {
    action()
    return true
  } catch {
    return false
  }
}
