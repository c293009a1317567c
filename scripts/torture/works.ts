/** What every part of the torture works with: a profile service on loopback, a key, directories, the program. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newTag } from '../../src/store/directory.ts'
import { startService } from '../../test/support/service.ts'
import { makeKey } from '../stock.ts'
import { type Run, type RunOptions, run, type Started, start } from './program.ts'
import type { Random } from './random.ts'
import { Tally } from './tally.ts'

const API_KEY = 'torture-key'

export type Works = Awaited<ReturnType<typeof openWorks>>

/** @param place where everything is written */
export async function openWorks(random: Random, place = tmpdir()) {
  const root = mkdtempSync(join(place, 'softsim-torture-'))
  const keyPath = join(root, 'softsim.pem')
  const { publicPem: publicKey } = makeKey(keyPath)
  const service = await startService({
    apiKeys: [{ key: API_KEY, kind: 'softsim', publicKey }],
    callsPerMinute: 1e9,
    allProfilesAlike: true,
    firstIccid: random.whole(1, 1e11),
  })
  let directories = 0

  /** A new name in an empty directory: there is nothing of that name. */
  function newPath(): string {
    const place = join(root, String(directories++))
    mkdirSync(place)
    return join(place, 'profiles')
  }
  const startFetch = (
    directory: string,
    count: number,
    options?: RunOptions,
    ...words: string[]
  ): Started => {
    const line = ['fetch', '-u', service.url, '-a', API_KEY, '-n', String(count), '-o', directory]
    return start([...line, ...words], options)
  }
  const nextLine = (directory: string, ...options: string[]) => [
    ...['next', '-k', keyPath, '-i', directory, '--format=raw', ...options],
  ]
  const fetch = (directory: string, count: number) => startFetch(directory, count).ended
  /** The ICCIDs that the service has delivered in whole answers since there were `before` of them. */
  const deliveredSince = (before: number): string[] => [...service.delivered.keys()].slice(before)

  return {
    tally: new Tally(),
    ...{ root, service, random, newPath, nextLine, fetch, startFetch, deliveredSince },
    next: (directory: string, ...options: string[]): Promise<Run> => run(nextLine(directory, ...options)),

    /**
     * Leaves what a fetch has left that was killed after it had put its answer aside.
     * @returns these profiles
     */
    async leaveFetch(directory: string, count: number): Promise<string[]> {
      const [before, apart] = [service.delivered.size, newPath()]
      await fetch(apart, count)
      const iccids = deliveredSince(before)
      const answer = join(directory, '.incoming', newTag())
      mkdirSync(answer, { recursive: true })
      const texts = iccids.map((each) => readFileSync(join(apart, `${each}.json`), 'utf8'))
      writeFileSync(join(answer, 'answer'), texts.map((text) => `${text.trimEnd()}\n`).join(''))
      rmSync(apart, { recursive: true })
      return iccids
    },

    /** @param keep what was found wrong is left for inspection */
    async close(keep = false): Promise<void> {
      await service.close()
      if (!keep) rmSync(root, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
