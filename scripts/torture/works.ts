/** What every part of the torture works with: a profile service on loopback, a key, directories, the program. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newAnswerName } from '../../src/store/incoming/answers.ts'
import { type Service, startService } from '../../test/support/service.ts'
import { makeKey } from '../stock.ts'
import { type Run, type RunOptions, run, type Started, start } from './program.ts'
import type { Random } from './random.ts'

const API_KEY = 'torture-key'

/** More than any process has (PID_MAX_LIMIT in Linux): whoever put an answer aside is gone. */
const GONE = 4_999_999

export class Works {
  /** Everything is written under it. */
  readonly root: string
  readonly service: Service
  readonly random: Random
  readonly #keyPath: string
  #directories = 0

  private constructor(root: string, random: Random, keyPath: string, service: Service) {
    this.root = root
    this.random = random
    this.service = service
    this.#keyPath = keyPath
  }

  static async open(random: Random): Promise<Works> {
    const root = mkdtempSync(join(tmpdir(), 'softsim-torture-'))
    const keyPath = join(root, 'softsim.pem')
    const { publicPem: publicKey } = makeKey(keyPath)
    const service = await startService({
      apiKeys: [{ key: API_KEY, kind: 'softsim', publicKey }],
      callsPerMinute: 1e9,
      allProfilesAlike: true,
      firstIccid: random.whole(1, 1e11),
    })
    return new Works(root, random, keyPath, service)
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

  #fetchLine(directory: string, count: number): string[] {
    return ['fetch', '-u', this.service.url, '-a', API_KEY, '-n', String(count), '-o', directory]
  }

  nextLine(directory: string, ...options: string[]): string[] {
    return ['next', '-k', this.#keyPath, '-i', directory, '--format=raw', ...options]
  }

  fetch(directory: string, count: number): Promise<Run> {
    return run(this.#fetchLine(directory, count))
  }

  next(directory: string, ...options: string[]): Promise<Run> {
    return run(this.nextLine(directory, ...options))
  }

  startFetch(directory: string, count: number, options?: RunOptions, ...words: string[]): Started {
    return start([...this.#fetchLine(directory, count), ...words], options)
  }

  /** The ICCIDs that the service has delivered in whole answers since there were `before` of them. */
  deliveredSince(before: number): string[] {
    return [...this.service.delivered.keys()].slice(before)
  }

  /**
   * Leaves what a fetch has left that was killed while it gave the profiles of its answer their names.
   * @returns these profiles
   */
  async leaveFetch(directory: string, count: number): Promise<string[]> {
    const [before, apart] = [this.service.delivered.size, this.newPath()]
    await this.fetch(apart, count)
    const iccids = this.deliveredSince(before)
    const name = newAnswerName().replace(`~${process.pid}~`, `~${GONE}~`)
    const answer = join(directory, '.incoming', `${name}.answer`)
    mkdirSync(answer, { recursive: true })
    const texts = iccids.map((each) => readFileSync(join(apart, `${each}.json`), 'utf8'))
    writeFileSync(join(answer, 'answer'), texts.map((text) => `${text.trimEnd()}\n`).join(''))
    for (const [at, each] of iccids.slice(0, this.random.whole(0, count)).entries())
      writeFileSync(join(directory, `${each}.json`), texts[at] ?? '')
    rmSync(apart, { recursive: true })
    return iccids
  }
}
