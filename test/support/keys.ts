import { execFile, execFileSync } from 'node:child_process'
import { checkPrimeSync, createHash, createPrivateKey, type KeyObject, randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'

export interface RsaKeyPair {
  privateKeyPath: string
  /** PKCS#1 PEM. */
  privateKey: string
  /** SPKI PEM, as the service wants it. */
  publicKey: string
}

/**
 * A key pair made the way users make theirs, with ssh-keygen, somewhere under `dir`.
 * A whole profile is too long for OAEP with 2048 or 3072 bits.
 */
export async function rsaKeyPair(dir: string, bits = 4096): Promise<RsaKeyPair> {
  // A directory of its own: ssh-keygen asks before it overwrites, and a test cannot answer.
  const privateKeyPath = join(mkdtempSync(join(dir, 'rsa-')), 'key')
  const words = ['-t', 'rsa', '-m', 'PEM', '-b', String(bits), '-N', '', '-q', '-f', privateKeyPath]
  await promisify(execFile)('ssh-keygen', words)
  return {
    privateKeyPath,
    privateKey: readFileSync(privateKeyPath, 'utf8'),
    publicKey: run('ssh-keygen', ['-e', '-m', 'PKCS8', '-f', `${privateKeyPath}.pub`]),
  }
}

export interface Certificate {
  /** PEM. */
  key: string
  /** PEM. */
  cert: string
  keyPath: string
  certPath: string
}

export interface CertificateOptions {
  /** The only name or address the certificate is for. */
  host?: string
  /** How long it is valid from now; negative makes one that expired that long ago. */
  days?: number
  /** Signed by this certificate instead of by itself. */
  ca?: Certificate
  /** Of its RSA key. */
  bits?: number
  /** What it is signed with. */
  digest?: string
}

/** A certificate for `host`, somewhere under `dir`; it can itself be the `ca` of another. */
export function selfSigned(dir: string, options: CertificateOptions = {}): Certificate {
  const { host = 'localhost', days = 1, ca, bits = 2048, digest = 'sha256' } = options
  const cwd = mkdtempSync(join(dir, 'tls-'))
  const keyPath = join(cwd, 'key.pem')
  const certPath = join(cwd, 'cert.pem')
  writeFileSync(join(cwd, 'ca.cnf'), configuration(host, bits, digest))
  writeFileSync(join(cwd, 'index.txt'), '')
  writeFileSync(join(cwd, 'serial'), `01${randomBytes(8).toString('hex')}\n`)

  const config = ['-config', 'ca.cnf']
  run('openssl', ['req', '-new', '-nodes', ...config, '-keyout', keyPath, '-out', 'request.pem'], cwd)

  const end = Date.now() + days * DAY
  const start = Math.min(Date.now(), end) - DAY
  const validity = ['-startdate', utcTime(start), '-enddate', utcTime(end)]
  const signer = ca ? ['-cert', ca.certPath, '-keyfile', ca.keyPath] : ['-selfsign', '-keyfile', keyPath]
  // `openssl ca` because it is the one command that takes both dates in every OpenSSL and LibreSSL.
  const files = ['-in', 'request.pem', '-out', certPath]
  run('openssl', ['ca', '-batch', '-notext', ...config, ...files, ...validity, ...signer], cwd)
  return { key: readFileSync(keyPath, 'utf8'), cert: readFileSync(certPath, 'utf8'), keyPath, certPath }
}

const DAY = 86_400_000

/** YYMMDDHHMMSSZ */
const utcTime = (ms: number) => `${new Date(ms).toISOString().slice(2, 19).replace(/\D/g, '')}Z`

function configuration(host: string, bits: number, digest: string): string {
  return `[ca]
default_ca = this
[this]
database = index.txt
serial = serial
new_certs_dir = .
default_md = ${digest}
policy = policy
x509_extensions = extensions
[policy]
commonName = supplied
[req]
default_bits = ${bits}
prompt = no
distinguished_name = name
[name]
# Unlike that of any other, or a certificate and its issuer would look like one.
CN = ${host} ${randomBytes(4).toString('hex')}
[extensions]
basicConstraints = critical,CA:true
subjectKeyIdentifier = hash
subjectAltName = ${isIP(host) ? 'IP' : 'DNS'}:${host}
`
}

function run(program: string, args: string[], cwd?: string): string {
  // What they report goes to standard error: kept out of the test run unless the program fails.
  return execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

/** An RSA private key that is the same in every run, for cases that are made from its text. Too short for a profile. */
export function fixedPrivateKey(): KeyObject {
  const [p, q] = [primeFrom('p'), primeFrom('q')]
  const e = 65537n
  const d = inverse(e, (p - 1n) * (q - 1n))
  const numbers = { n: p * q, e, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p) }
  const key = Object.fromEntries(Object.entries(numbers).map(([name, number]) => [name, base64url(number)]))
  return createPrivateKey({ key: { kty: 'RSA', ...key }, format: 'jwk' })
}

/** The first prime of 512 bits behind a number that the text decides. */
function primeFrom(text: string): bigint {
  const digest = createHash('sha512').update(text).digest('hex')
  let candidate = BigInt(`0x${digest}`) | (3n << 510n) | 1n
  while (!checkPrimeSync(candidate)) candidate += 2n
  return candidate
}

/** The inverse of a number modulo another one, by Euclid's algorithm. */
function inverse(number: bigint, modulus: bigint): bigint {
  let [a, b, x, y] = [number % modulus, modulus, 1n, 0n]
  while (b !== 0n) [a, b, x, y] = [b, a % b, y, x - (a / b) * y]
  return ((x % modulus) + modulus) % modulus
}

function base64url(number: bigint): string {
  const hex = number.toString(16)
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url')
}
