import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { Failure } from '../failure.ts'
import { asking, quote } from '../words.ts'

const RIGHT_KEY =
  'use the RSA private key that matches the public key registered with the service when the profiles were fetched'

/**
 * Reads an RSA private key: PKCS#1 or PKCS#8 (RFC 8017 A.1.2, RFC 5208), PEM or DER.
 * @param path the name to use in messages
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
  const secret = passphrase ? { passphrase } : {}
  const attempts = isPem(bytes)
    ? [() => createPrivateKey({ key: bytes, ...secret })]
    : (['pkcs8', 'pkcs1'] as const).map(
        (type) => () => createPrivateKey({ key: bytes, format: 'der', type, ...secret }),
      )
  const failed: unknown[] = []
  for (const attempt of attempts) {
    try {
      return checked(attempt(), path)
    } catch (error) {
      if (error instanceof Failure) throw error
      failed.push(error)
    }
  }
  throw diagnosis(bytes, path, passphrase, failed, platform)
}

const isPem = (bytes: Buffer) => bytes.includes('-----BEGIN ')

function checked(key: KeyObject, path: string): KeyObject {
  if (key.asymmetricKeyType !== 'rsa') throw notRsa(path, key.asymmetricKeyType ?? 'unknown')
  return key
}

const notRsa = (path: string, type: string) =>
  keyFailure(`${path} is a key of type ${type}; decryption needs an RSA key`, RIGHT_KEY)

const keyFailure = (message: string, hint: string) => new Failure('key', message, { hint })

function diagnosis(
  bytes: Buffer,
  path: string,
  passphrase: string | undefined,
  errors: unknown[],
  platform: NodeJS.Platform,
): Failure {
  const text = bytes.toString('latin1')
  if (bytes.length === 0) return keyFailure(`${path} is empty`, RIGHT_KEY)
  if (text.includes('BEGIN OPENSSH PRIVATE KEY')) return openSsh(text, path, platform)
  if (isEncrypted(text, errors)) {
    return passphrase
      ? keyFailure(`the passphrase does not decrypt ${path}`, 'check SOFTSIM_KEY_PASSPHRASE')
      : keyFailure(
          `${path} is protected with a passphrase, but none was given`,
          `set it: ${asking('SOFTSIM_KEY_PASSPHRASE', platform)}`,
        )
  }
  if (/BEGIN (RSA |SSH2 )?PUBLIC KEY|^(ssh|ecdsa)-\S+ AAAA/m.test(text) || isDerPublicKey(bytes)) {
    return keyFailure(
      `${path} is a public key; decryption needs the private key`,
      path.endsWith('.pub')
        ? `use the private key, which is probably in ${path.slice(0, -'.pub'.length)}`
        : RIGHT_KEY,
    )
  }
  if (isCertificate(bytes)) {
    return keyFailure(
      `${path} is a certificate; decryption needs the private key that belongs to it`,
      'extract it from the PKCS#12 bundle: openssl pkcs12 -in bundle.p12 -nocerts -nodes -out softsim.pem',
    )
  }
  if (text.startsWith('PuTTY-User-Key-File')) {
    return keyFailure(
      `${path} is in PuTTY's own format`,
      platform === 'win32'
        ? 'in PuTTYgen, use Conversions > Export OpenSSH key and save it as softsim.pem; then run: ssh-keygen -p -m PEM -f softsim.pem'
        : `convert it: puttygen ${quote(path, platform)} -O private-openssh -o softsim.pem && ssh-keygen -p -m PEM -f softsim.pem`,
    )
  }
  return keyFailure(
    `${path} is not a readable private key (PKCS#1 or PKCS#8, PEM or DER)`,
    `check it: openssl pkey -check -noout -in ${quote(path, platform)}`,
  )
}

/** OpenSSH's own format names the type of the key in its first bytes (PROTOCOL.key in its sources). */
function openSsh(text: string, path: string, platform: NodeJS.Platform): Failure {
  const body = /BEGIN OPENSSH PRIVATE KEY-----([^-]*)/.exec(text)?.[1] ?? ''
  const type = /ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-[a-z0-9]+/.exec(
    Buffer.from(body, 'base64').toString('latin1'),
  )?.[0]
  if (type !== undefined && type !== 'ssh-rsa') return notRsa(path, type)
  const quoted = quote(path, platform)
  // ssh-keygen rejects a key that other users can read.
  const chmod = platform === 'win32' ? '' : `chmod 600 ${quoted} && `
  return keyFailure(
    `${path} is in OpenSSH's own format`,
    `convert it to PEM in place: ${chmod}ssh-keygen -p -m PEM -f ${quoted}`,
  )
}

/** The object identifier of PBES2 (RFC 8018 A.4) in DER. An encrypted PKCS#8 key begins with it. */
const PBES2 = Buffer.from('2a864886f70d01050d', 'hex').toString('latin1')

function isEncrypted(text: string, errors: unknown[]): boolean {
  // One wrong passphrase in 256 seems to decrypt, and the error is another one then.
  if (text.slice(0, 64).includes(PBES2)) return true
  if (/BEGIN ENCRYPTED PRIVATE KEY|Proc-Type: 4,ENCRYPTED/.test(text)) return true
  return errors.some((error) => {
    const { code } = error as NodeJS.ErrnoException
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
