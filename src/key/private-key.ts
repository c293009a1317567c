import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { errnoOf, Failure } from '../failure.ts'

/** The first private key of a file. */
export interface PrivateKey {
  readonly object: KeyObject
  /** How many keys the file has, if it is PEM. */
  readonly inFile: number
}

/**
 * Reads an RSA private key: PKCS#1 or PKCS#8 (RFC 8017 A.1.2, RFC 5208), PEM or DER.
 * @param path the file that messages and hints name; `-` for standard input
 * @param passphrase for an encrypted key; undefined or empty if there is none
 * @throws {Failure} that says what it is instead
 */
export function parsePrivateKey(bytes: Buffer, path: string, passphrase: string | undefined): PrivateKey {
  const secret = passphrase ? { passphrase } : {}
  const attempts = isPem(bytes)
    ? [() => createPrivateKey({ key: bytes, ...secret })]
    : (['pkcs8', 'pkcs1'] as const).map(
        (type) => () => createPrivateKey({ key: bytes, format: 'der', type, ...secret }),
      )
  const errors: unknown[] = []
  for (const attempt of attempts) {
    try {
      return { object: checked(attempt(), nameOf(path)), inFile: keysIn(bytes.toString('latin1')) }
    } catch (error) {
      if (error instanceof Failure) throw error
      errors.push(error)
    }
  }
  throw diagnosis(bytes, path, passphrase, errors)
}

const nameOf = (path: string) => (path === '-' ? 'standard input' : path)

const isPem = (bytes: Buffer) => bytes.includes('-----BEGIN ')

const keysIn = (pem: string) => pem.split(/-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/).length - 1

function checked(key: KeyObject, name: string): KeyObject {
  if (key.asymmetricKeyType !== 'rsa') throw notRsa(name, key.asymmetricKeyType ?? 'unknown')
  return key
}

const notRsa = (name: string, type: string) =>
  new Failure('other-key', `${name} is a key of type ${type}; decryption needs an RSA key`)

/** @param errors why it can't be read as a private key */
function diagnosis(
  bytes: Buffer,
  path: string,
  passphrase: string | undefined,
  errors: readonly unknown[],
): Failure {
  const name = nameOf(path)
  const text = bytes.toString('latin1')
  if (bytes.length === 0) return new Failure('other-key', `${name} is empty`)
  if (isUtf16(bytes)) return new Failure({ kind: 'utf16-key', path }, `${name} is a text file in UTF-16`)
  if (NO_LINE_BREAKS.test(text)) {
    const kind = text.includes('\\n') ? 'escaped-line-breaks' : 'lost-line-breaks'
    return new Failure(kind, `the key in ${name} has lost its line breaks`)
  }
  if (/^[ \t>]+-----(BEGIN|END)/m.test(text))
    return new Failure('indented-key', `the lines of ${name} begin with spaces or with ">"`)
  if (/-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/.test(text) && !/^-----END .*-----/m.test(text))
    return new Failure('cut-off-key', `${name} is cut off: the END line is missing`)
  if (isPkcs12(bytes)) {
    const kind = text.includes(RC2) ? 'old-pkcs12' : 'pkcs12'
    return new Failure({ kind, path }, `${name} is a PKCS#12 bundle`)
  }
  if (text.includes('BEGIN OPENSSH PRIVATE KEY')) return openSsh(text, path)
  if (passphrase && errors.some((error) => errnoOf(error) === 'ERR_OSSL_EVP_UNSUPPORTED')) {
    const facts = { kind: 'retired-cipher', path } as const
    return new Failure(facts, `${name} is encrypted with a cipher that OpenSSL has retired`)
  }
  if (isEncrypted(text, errors)) {
    return passphrase
      ? new Failure('wrong-passphrase', `the passphrase does not decrypt ${name}`)
      : new Failure('missing-passphrase', `${name} is protected with a passphrase, but none was given`)
  }
  if (/BEGIN (RSA |SSH2 )?PUBLIC KEY|^(ssh|ecdsa)-\S+ AAAA/m.test(text) || isDerPublicKey(bytes)) {
    const facts = { kind: 'public-key', path } as const
    return new Failure(facts, `${name} is a public key; decryption needs the private key`)
  }
  if (isCertificate(bytes)) {
    return new Failure(
      'certificate',
      `${name} is a certificate; decryption needs the private key that belongs to it`,
    )
  }
  if (text.startsWith('PuTTY-User-Key-File'))
    return new Failure({ kind: 'putty-key', path }, `${name} is in PuTTY's own format`)
  const facts = { kind: 'unreadable-key', path } as const
  return new Failure(facts, `${name} is not a readable private key (PKCS#1 or PKCS#8, PEM or DER)`)
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
function openSsh(text: string, path: string): Failure {
  const body = /BEGIN OPENSSH PRIVATE KEY-----([^-]*)/.exec(text)?.[1] ?? ''
  const type = /ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-[a-z0-9]+/.exec(
    Buffer.from(body, 'base64').toString('latin1'),
  )?.[0]
  if (type !== undefined && type !== 'ssh-rsa') return notRsa(nameOf(path), type)
  return new Failure({ kind: 'openssh-key', path }, `${nameOf(path)} is in OpenSSH's own format`)
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
