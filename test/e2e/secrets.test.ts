import { expect, inject, test } from 'vitest'
import { directoryOf, someProfiles, temporaryDirectory } from '../support/directory.ts'
import { selfSigned } from '../support/keys.ts'
import { plainProfile } from '../support/profiles.ts'
import { startSandbox } from '../support/sandbox.ts'
import type { Fault } from '../support/service.ts'
import { softsim } from '../support/softsim.ts'
import { startTunnel } from '../support/tunnel.ts'

const SECRET = 'S3cr3t-K3y-0123456789'
const { privateKeyPath: KEY, privateKey, publicKey } = inject('keys')
const apiKeys = [{ key: SECRET, kind: 'softsim' as const, publicKey }]

/** Runs it with the key in an option and with the key in the environment; nothing may show it. */
async function expectHidden(args: string[], env: Record<string, string> = {}) {
  const withOption = await softsim([...args, '-vvv', '-a', SECRET], { env })
  const withVariable = await softsim([...args, '-vvv'], { env: { ...env, SOFTSIM_API_KEY: SECRET } })
  for (const { stdout, stderr } of [withOption, withVariable]) {
    expect(stdout + stderr).not.toContain(SECRET)
    expect(stderr).not.toBe('')
  }
  return [withOption.code, withVariable.code]
}

test('a fetch that works', async () => {
  const { url } = await startSandbox({ apiKeys })
  expect(await expectHidden(['fetch', '-u', url, '-o', temporaryDirectory()])).toEqual([0, 0])
})

test.concurrent.each<[string, Fault]>([
  ['in its message', { kind: 'status', status: 400, body: `the key ${SECRET} is odd` }],
  ['in its refusal', { kind: 'status', status: 401, body: `${SECRET}?` }],
  ['in a header', { kind: 'status', status: 403, headers: { 'x-echo': SECRET } }],
  ['in a redirect', { kind: 'redirect', location: `https://elsewhere.test/?key=${SECRET}` }],
  ['in an entry', { kind: 'bad-entries', entries: [{ iccid: SECRET, profile: 'AAAA' }] }],
  ['in an invalid response', { kind: 'garbage', body: `<p>${SECRET}</p>` }],
  ['before it breaks', { kind: 'torn' }],
])('a service that repeats the key %s', async (_, fault) => {
  const { url, fault: queue } = await startSandbox({ apiKeys })
  queue({ ...fault, times: 2 })
  await expectHidden(['fetch', '-u', url, '-o', temporaryDirectory()])
})

test('a service that repeats a key with special characters, URL-encoded and JSON-escaped', async () => {
  const odd = 'S3cr3t/K3y+"0123456789"='
  const escaped = JSON.stringify(odd).slice(1, -1).replaceAll('/', '\\/')
  const { url, fault } = await startSandbox({ apiKeys: [{ key: odd, kind: 'softsim', publicKey }] })
  const location = `https://elsewhere.test/?key=${encodeURIComponent(odd)}`
  const body = `{"error":"${escaped}"}`
  fault({ kind: 'status', status: 308, headers: { location }, body }, { kind: 'status', status: 400, body })
  for (let call = 0; call < 2; call++) {
    const { stdout, stderr } = await softsim(['fetch', '-u', url, '-o', temporaryDirectory(), '-vvv'], {
      env: { SOFTSIM_API_KEY: odd },
    })
    expect(stdout + stderr).not.toContain('0123456789')
    expect(stderr).toContain('***')
  }
})

test.concurrent.each([
  ['a wrong option', ['fetch', '--nope']],
  ['a wrong count', ['fetch', '-n', 'x']],
  ['a wrong address', ['fetch', '-u', `http://example.com/?key=${SECRET}`]],
  ['the key as the address', ['fetch', '-u', SECRET]],
  ['the key as the count', ['fetch', '-n', SECRET]],
  ['a wrong command', ['fecth']],
])('%s', async (_, args) => {
  expect(await expectHidden(args)).toEqual([2, 2])
})

test.concurrent.each([
  [['fetch', '--api-kye', SECRET]],
  [['fetch', `--api-kye=${SECRET}`]],
  [['fetch', '--api-key', 'x', SECRET]],
  [['fetch', SECRET]],
  [['fetch', '-a', 'x', `-${SECRET}`]],
  [['fetch', '-x', SECRET]],
  [[SECRET]],
  [['-a', SECRET, 'fetch', '--nope']],
  [[`-a${SECRET}`, 'fetch', '--nope']],
  [['next', '-a', SECRET]],
  [['next', `-a=${SECRET}`]],
  [['help', SECRET]],
])('a typing error: %j', async (args) => {
  for (const more of [[], ['-vvv']]) {
    const { code, stderr } = await softsim([...more, ...args])
    expect(code).toBe(2)
    expect(stderr).not.toContain(SECRET)
  }
})

test('the key of the environment as the directory of a command that needs none', async () => {
  const { stderr } = await softsim(['status', '-i', SECRET], { env: { SOFTSIM_API_KEY: SECRET } })
  expect(stderr).toContain('directory *** does not exist')
  expect(stderr).not.toContain(SECRET)
})

test('certificates, redirects and proxies', async () => {
  const tls = selfSigned(temporaryDirectory())
  const { url, httpsUrl = '' } = await startSandbox({ apiKeys, tls, redirect: true })
  const proxy = await startTunnel({ refusals: [407, 407] })
  const trusted = { NODE_EXTRA_CA_CERTS: tls.certPath }
  const fetch = (from: string, env?: Record<string, string>) =>
    expectHidden(['fetch', '-u', from, '-o', temporaryDirectory()], env)
  expect(await fetch(httpsUrl, trusted)).toEqual([0, 0])
  expect(await fetch(url.replace('127.0.0.1', 'localhost'), trusted)).toEqual([0, 0])
  expect(await fetch(httpsUrl)).toEqual([7, 7])
  expect(await fetch(url)).toEqual([7, 7])
  expect(await fetch(httpsUrl, { ...trusted, HTTPS_PROXY: proxy.url })).toEqual([7, 7])
  proxy.close()
})

test('next writes no key, no passphrase and no profile data to standard error', async () => {
  const directory = directoryOf(someProfiles(2))
  const env = { SOFTSIM_KEY_PASSPHRASE: 'a passphrase' }
  const { code, stderr } = await softsim(['next', '-k', KEY, '-i', directory, '-vvv'], { env })
  expect(code).toBe(0)
  const { k, opc, kic, kid, imsi, puk, adm } = plainProfile(1)
  const secrets = [k, opc, kic, kid, imsi, puk, adm, 'a passphrase', privateKey.split('\n')[3] ?? '']
  for (const secret of secrets) expect(stderr.toLowerCase()).not.toContain(secret.toLowerCase())
})

/** What is between the first and the last line of the private key, in one line: base64 of its DER. */
const keyBody = privateKey.replace(/-----.*-----|\s/g, '')
const wholeKey = privateKey.trimEnd()

test.concurrent.each([
  ['inserted by a shell', [`--key=${wholeKey}`]],
  ['inserted by a shell, as a separate word', ['-k', wholeKey]],
  ['inserted by a shell, attached to -k', [`-k${wholeKey}`]],
  ['split by a shell', `--key=${wholeKey}`.split(/\s+/)],
  ['without line breaks', ['--key', wholeKey.replaceAll('\n', '')]],
  ['with Windows line breaks', ['--key', wholeKey.replaceAll('\n', '\r\n')]],
  ['without its first and last line', ['--key', wholeKey.split('\n').slice(1, -1).join('\n')]],
  ['DER in base64', ['--key', keyBody]],
  ['DER in base64url', ['--key', Buffer.from(keyBody, 'base64').toString('base64url')]],
])('the key itself instead of its file: %s', async (_, args) => {
  const directory = directoryOf(someProfiles(1))
  for (const more of [[], ['-vvv']]) {
    const { code, stderr } = await softsim(['next', '-i', directory, ...args, ...more])
    expect(code).toBe(2)
    for (const part of keyBody.match(/.{1,40}/g) ?? []) expect(stderr).not.toContain(part)
    expect(stderr).not.toContain('BEGIN')
  }
})
