/** What every part of the torture works with: a profile service on loopback, a key, directories, the program. */
import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Service, startService } from '../../test/support/service.ts'
import { type Run, type RunOptions, run, type Started, start } from './program.ts'
import type { Random } from './random.ts'

const API_KEY = 'torture-key'

export interface KeyPair {
  /** PKCS#1 PEM. */
  readonly privateKey: string
  /** SPKI PEM. */
  readonly publicKey: string
}

export class Works {
  /** Everything is written under it. */
  readonly root: string
  service: Service
  readonly random: Random
  readonly #keyPath: string
  readonly #publicKey: string
  #directories = 0

  private constructor(root: string, random: Random, publicKey: string, keyPath: string, service: Service) {
    this.root = root
    this.random = random
    this.service = service
    this.#publicKey = publicKey
    this.#keyPath = keyPath
  }

  static async open(random: Random, keys: KeyPair = newKeys(), above = tmpdir()): Promise<Works> {
    const root = mkdtempSync(join(above, 'softsim-torture-'))
    const keyPath = join(root, 'softsim.pem')
    writeFileSync(keyPath, keys.privateKey, { mode: 0o600 })
    return new Works(root, random, keys.publicKey, keyPath, await newService(random, keys.publicKey))
  }

  /** Puts a new service in the place of one that may have been told to do what nobody asked it for any more. */
  async renewService(): Promise<void> {
    await this.service.close()
    this.service = await newService(this.random, this.#publicKey)
  }

  /** @param keep what was found wrong is left for inspection */
  async close(keep = false): Promise<void> {
    await this.service.close()
    if (!keep) rmSync(this.root, { recursive: true, force: true, maxRetries: 5 })
  }

  /** A new name in an empty directory: there is nothing of that name. */
  newPath(name = 'profiles'): string {
    const place = join(this.root, String(this.#directories++))
    mkdirSync(place)
    return join(place, name)
  }

  fetchLine(directory: string, count: number): string[] {
    return ['fetch', '-u', this.service.url, '-a', API_KEY, '-n', String(count), '-o', directory]
  }

  nextLine(directory: string, ...options: string[]): string[] {
    return ['next', '-k', this.#keyPath, '-i', directory, '--format=raw', ...options]
  }

  fetch(directory: string, count: number, options?: RunOptions): Promise<Run> {
    return run(this.fetchLine(directory, count), options)
  }

  next(directory: string, ...options: string[]): Promise<Run> {
    return run(this.nextLine(directory, ...options))
  }

  startNext(directory: string, ...options: string[]): Started {
    return start(this.nextLine(directory, ...options))
  }

  startFetch(directory: string, count: number, options?: RunOptions, ...words: string[]): Started {
    return start([...this.fetchLine(directory, count), ...words], options)
  }

  /** The ICCIDs that the service has delivered in whole answers since there were `before` of them. */
  deliveredSince(before: number): string[] {
    return [...this.service.delivered.keys()].slice(before)
  }
}

const newService = (random: Random, publicKey: string) =>
  startService({
    apiKeys: [{ key: API_KEY, kind: 'softsim', publicKey }],
    callsPerMinute: 1e9,
    allProfilesAlike: true,
    firstIccid: random.whole(1, 1e11),
  })

/** The smallest key that a whole profile fits. */
export const newKeys = (): KeyPair =>
  generateKeyPairSync('rsa', {
    modulusLength: 4096,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  })
