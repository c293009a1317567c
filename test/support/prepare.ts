/** What the tests of transcripts ask for in lines that begin with `+`. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'
import {
  give,
  hold,
  identityOf,
  newTag,
  noteTarget,
  placesOf,
  putOrder,
  tagFor,
} from '../../src/store/directory.ts'
import { type SmallDisk, smallDisk } from './disk.ts'
import { type Certificate, type CertificateOptions, selfSigned } from './keys.ts'
import { iccid, plainProfile, storedFile } from './profiles.ts'
import { API_KEY, NORMAL, type Sandbox, startSandbox } from './sandbox.ts'
import type { ApiKey } from './service.ts'
import { startTunnel, type Tunnel } from './tunnel.ts'

export interface Place {
  cwd: string
  env: Record<string, string>
  /** The commands before the first test. */
  before: string
  sandbox?: Sandbox
  disk?: SmallDisk
  tunnels?: Tunnel[]
}

type Settings = Record<string, unknown>

/** Made once: it takes a while. */
let authority: Certificate | undefined

function certificate({ env }: Place, tls: unknown) {
  if (tls === undefined) return {}
  authority ??= selfSigned(inject('root'))
  env['CA'] = authority.certPath
  const options = tls === 'self' ? {} : { ca: authority, ...(tls as CertificateOptions) }
  return { tls: { ...selfSigned(inject('root'), options), ciphers: 'DEFAULT@SECLEVEL=0' } }
}

const PREPARE: Record<string, (place: Place, settings: Settings, ...words: string[]) => unknown> = {
  /** `+ profiles 1-3 in=stick puk=12`: unused ones, as fetch leaves them; `key=another` is not theirs. */
  profiles({ cwd }, { in: directory = 'profiles', key, digits = 20, ...changes }, range = '1') {
    const { publicKey } = inject(key === 'another' ? 'otherKeys' : 'keys')
    const [from = 1, to = from] = range.split('-').map(Number)
    const path = join(cwd, String(directory))
    mkdirSync(path, { recursive: true, mode: 0o700 })
    for (let n = from; n <= to; n++) {
      const profile = { ...plainProfile(n, digits as 19 | 20), ...changes }
      writeFileSync(join(path, `${profile.iccid}.json`), storedFile(profile, publicKey), { mode: 0o600 })
    }
  },
  /** `+ claim 2 SN-1 2026-03-01`: that one is used, by a device, since then. */
  claim({ cwd }, { in: directory = 'profiles', station = 'line-1' }, n, device, claimed) {
    mkdirSync(join(cwd, String(directory)), { recursive: true, mode: 0o700 })
    const record = { iccid: iccid(Number(n)), profile: 'AAAA', device, station, claimed }
    writeFileSync(join(cwd, String(directory), `__${iccid(Number(n))}.json`), JSON.stringify(record))
  },
  /** `+ answer 7-8`: what a call that was killed has received and not stored. */
  answer({ cwd }, { in: directory = 'profiles' }, range = '1') {
    const [from = 1, to = from] = range.split('-').map(Number)
    const lines = Array.from(
      { length: to - from + 1 },
      (_, n) => `${storedFile(plainProfile(from + n), inject('keys').publicKey)}\n`,
    )
    const path = join(cwd, String(directory), '.incoming', newTag())
    mkdirSync(path, { recursive: true })
    writeFileSync(join(path, 'answer'), lines.join(''))
  },
  /**
   * `+ service supply=4`: a profile service at $URL; fetch knows the API key. With `tls={"days":-1}`, or `tls=self`, also
   * at $HTTPS with such a certificate, and $CA has signed it.
   */
  async service(place, { key = API_KEY, tls, ...settings }) {
    const { publicKey } = inject('keys')
    const own: ApiKey = { key: String(key), kind: 'softsim', publicKey }
    const apiKeys: ApiKey[] = [own, NORMAL]
    const certified = certificate(place, tls)
    place.sandbox = await startSandbox({ apiKeys, firstIccid: 1, ...certified, ...settings })
    const { url, httpsUrl: HTTPS = '' } = place.sandbox
    const URL = url.replace('127.0.0.1', HTTPS === '' ? '127.0.0.1' : 'localhost')
    Object.assign(place.env, { URL, HTTPS, SOFTSIM_API_KEY: key })
  },
  /** `+ proxy OTHER user=me:secret refusals=[407]`: a proxy at $OTHER, or at $PROXY. */
  async proxy(place, { tls, ...options }, name = 'PROXY') {
    const tunnel = await startTunnel({ ...certificate(place, tls), ...options })
    const isByName = tls !== undefined && !JSON.stringify(tls).includes('127.0.0.1')
    place.env[name] = isByName ? tunnel.url.replace('127.0.0.1', 'localhost') : tunnel.url
    place.tunnels = [...(place.tunnels ?? []), tunnel]
  },
  /** `+ tunnels`: how often each proxy was asked to connect, and what it was told. */
  tunnels: ({ tunnels = [] }) =>
    tunnels
      .map(({ targets, headers }) => {
        const told = JSON.stringify(headers)
        return `${targets.length}${told.includes('"Basic ') ? ' with a password' : ''}${told.includes(API_KEY) ? ' and the key' : ''}`
      })
      .join(', '),
  /** `+ fault status status=400 times=2`: see faults.ts; LONG is 20 kB. */
  fault: ({ sandbox }, settings, kind) => sandbox?.fault({ kind, ...settings } as never),
  /** `+ requests`: what each asked for, the status of its answer, and what else its query had. */
  requests: ({ sandbox }) =>
    sandbox?.requests
      .map(({ count, status, query }) => {
        const more = [...query].filter(([name]) => name !== 'version').map((each) => each.join('='))
        return [`${count}: ${status}`, ...more].join(' ')
      })
      .join(', ') || 'none',
  /** `+ move 1-2 to=stick/profiles decided=true`: one of profiles/ that was killed after, or before, its list was decided. */
  async move({ cwd }, { decided, to: place = 'stick/profiles' }, range = '1-2') {
    const [source, target] = [join(cwd, 'profiles'), join(cwd, String(place))]
    mkdirSync(target, { recursive: true, mode: 0o700 })
    const [from = 1, to = from] = range.split('-').map(Number)
    const names = Array.from({ length: to - from + 1 }, (_, n) => `${iccid(from + n)}.json`)
    const id = `${identityOf(target)}.${newTag()}`
    noteTarget(source, { id, to: target })
    await putOrder(target, { id, source: identityOf(source), from: source, names })
    const texts = new Map(names.map((name) => [name, readFileSync(join(source, name), 'utf8')]))
    const items = names.map((name) => ({ name, tag: tagFor(id) }))
    for (const item of items) hold(source, item.name, placesOf(source, item))
    if (decided) await give(target, id, items, texts)
  },
  /** `+ disk 16`: a disk of so many MB at ./disk. */
  async disk(place, _, megabytes) {
    place.disk = await smallDisk(Number(megabytes))
    symlinkSync(place.disk.path, join(place.cwd, 'disk'))
  },
  /** `+ fill 12`: all of the disk but so many blocks of 4096 bytes. */
  fill: ({ disk }, _, blocks = '0') => disk?.fill(Number(blocks)),
  /** `+ clear`: takes away again what fills it. */
  clear: ({ disk }) => disk?.clear(),
}

/** Does what a line says. @returns what is compared as if it was printed */
export async function prepare(place: Place, line: string): Promise<string> {
  const [name = '', ...words] = line.match(/(?:[^\s"]|"(?:\\.|[^"])*")+/g) ?? []
  const settings = words.flatMap((word) => [/^(\w+)=(.*)$/s.exec(word)?.slice(1) ?? []])
  const rest = words.filter((word) => !/^\w+=/.test(word))
  const printed = await PREPARE[name]?.(
    place,
    Object.fromEntries(settings.filter(([key]) => key).map(([key, value = '']) => [key, meant(value)])),
    ...rest.map((word) => (word.startsWith('"') ? JSON.parse(word) : word)),
  )
  return typeof printed === 'string' ? printed : ''
}

function meant(value: string): unknown {
  try {
    return JSON.parse(value.replaceAll('LONG', 'A'.repeat(20_000)))
  } catch {
    return value
  }
}
