import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { selfSigned } from '../../test/support/keys.ts'
import { startService } from '../../test/support/service.ts'
import { hostBinary } from '../package/host.ts'
import { alike, makeKey } from '../stock.ts'
import { type Line, time } from './measure.ts'

/**
 * Where everything is written: a temporary directory with a key pair and directories of profiles. Nothing in it is
 * removed before the end, since removing many files may slow down what comes next.
 */
export type Place = ReturnType<typeof openPlace>

export function openPlace(above: string) {
  const binary = join(import.meta.dirname, '../..', hostBinary)
  if (!existsSync(binary)) throw new Error(`${binary} is missing: npm run package -- --only=host`)
  const root = mkdtempSync(join(above, 'softsim-bench-'))
  const [keyPath, publicKeyPath] = [join(root, 'key.pem'), join(root, 'public.pem')]
  const { privateKey, publicKey, publicPem } = makeKey(keyPath)
  writeFileSync(publicKeyPath, publicPem)
  /** The ciphertext is a profile, encrypted. */
  const { nthFile, ciphertext } = alike(publicKey)
  let inMemory: string | undefined

  /** The command line of `next`. */
  const next = (directory: string, options: Line = []): Line => [
    ...[binary, 'next', '-k', keyPath, '-i', directory, ...options],
  ]

  /** A path that nothing has been at before. */
  const newPath = () => join(root, randomUUID())

  /** A new directory of so many profiles. The first `used` are used; from `real` on, they are empty: nobody opens them. */
  async function newDirectory(count: number, { used = 0, real = count } = {}): Promise<string> {
    const directory = newPath()
    mkdirSync(directory)
    for (let n = 0; n < count; n++) {
      const { name, text } = nthFile(n)
      writeFileSync(join(directory, n < used ? `__${name}` : name), n < real ? text : '')
      if (n % 1000 === 0) await turn()
    }
    return directory
  }

  /**
   * In a directory of so many profiles, half of them used, each call finds what the one before has found.
   * @returns makes a call
   */
  async function newStation(count: number) {
    const used = count / 2
    const directory = await newDirectory(count, { used, real: used + 2 })
    const [list, kept] = [join(directory, '.unused'), newPath()]
    await time(next(directory))
    copyFileSync(list, kept)
    // Without the free list, a call takes the first; with it, the second.
    const names = [0, 1].map((n) => nthFile(used + n).name)
    const putBack = () => {
      for (const name of names)
        if (existsSync(join(directory, `__${name}`)))
          renameSync(join(directory, `__${name}`), join(directory, name))
      copyFileSync(kept, list)
    }
    putBack()
    return (hasList = true) => {
      if (!hasList) rmSync(list)
      return time(next(directory)).finally(putBack)
    }
  }

  return {
    ...{ root, binary, privateKey, publicKeyPath, publicPem, ciphertext },
    ...{ next, newPath, newDirectory, newStation },
    /** The same on tmpfs. Linux alone has one in any case. */
    newPathInMemory(): string {
      inMemory ??= mkdtempSync('/dev/shm/softsim-bench-')
      return join(inMemory, randomUUID())
    },
    clear(): void {
      for (const each of [root, inMemory ?? []].flat())
        rmSync(each, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

const API_KEY = 'bench-key'

/**
 * Measures a call of `fetch` of `count` profiles from a new service.
 * @param roundTripMs to one with TLS that is far away; 0: it is near, without TLS
 */
export async function fetchFrom<T>(
  place: Place,
  count: number,
  measure: (line: Line) => Promise<T>,
  roundTripMs = 0,
  directory = place.newPath(),
): Promise<T> {
  const tls = roundTripMs === 0 ? undefined : selfSigned(place.root)
  const service = await startService({
    apiKeys: [{ key: API_KEY, kind: 'softsim', publicKey: place.publicPem }],
    ...{ callsPerMinute: 1e9, allProfilesAlike: true, firstIccid: 0 },
    ...(tls && { tls }),
  })
  const url = new URL(service.httpsUrl ?? service.url)
  const far = tls === undefined ? undefined : await farPort(Number(url.port), roundTripMs)
  if (far !== undefined) url.port = String((far.address() as AddressInfo).port)
  process.env['NODE_EXTRA_CA_CERTS'] = tls?.certPath ?? ''
  try {
    const options = ['-u', String(url), '-a', API_KEY, '-n', String(count), '-o', directory]
    return await measure([place.binary, 'fetch', ...options])
  } finally {
    far?.close()
    await service.close()
  }
}

/** Each connection and each part of it takes its time. */
async function farPort(port: number, roundTripMs: number): Promise<Server> {
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (near) => {
    const far = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    // TCP's handshake is a round trip, too.
    lag(near, far, roundTripMs / 2, roundTripMs)
    lag(far, near, roundTripMs / 2)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

/** @param moreMs for the first part; the other side waits for it before it says anything */
function lag(from: Socket, to: Socket, ms: number, moreMs = 0): void {
  let isFirst = true
  from.on('data', (part) => {
    setTimeout(() => to.write(part), isFirst ? ms + moreMs : ms)
    isFirst = false
  })
  from.on('end', () => setTimeout(() => to.end(), ms))
  from.on('error', () => to.destroy())
}
