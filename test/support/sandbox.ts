import { inject } from 'vitest'
import { temporaryDirectory } from './directory.ts'
import { type ApiKey, type Service, type ServiceOptions, startService } from './service.ts'
import { type Options, softsim, startSoftsim } from './softsim.ts'

/** A SoftSIM key and one that opens everything but profiles; neither may ever be seen in an output. */
export const API_KEY = 'softsim-key-c0ffee'
export const NORMAL_KEY = 'normal-key-deadbeef'
export const NORMAL: ApiKey = { key: NORMAL_KEY, kind: 'normal' }

/** Where nothing listens: no system gives a port as low as this to anybody who asks for any. */
export const REFUSES = 'http://127.0.0.1:1/sims/profiles'

/** Behind those that tests choose for themselves. */
const FIRST_ICCID = 1_000_000

/** A service for one test, and a way to fetch from it into a directory that is not there yet. */
export interface Sandbox extends Service {
  directory: string
  /** `softsim fetch` with these options after the usual ones. */
  fetch: (args?: readonly string[], options?: Options) => ReturnType<typeof softsim>
  startFetch: (args?: readonly string[], options?: Options) => ReturnType<typeof startSoftsim>
  /** Counts asked for, in the order they came. */
  asked: () => (number | undefined)[]
  statuses: () => unknown[]
}

const running: Service[] = []

/** Starts a service whose profiles differ in the ICCID only, for tests that do not look into them; stopped after the file's tests. */
export async function startSandbox(options: Partial<ServiceOptions> = {}): Promise<Sandbox> {
  const { publicKey } = inject('keys')
  const service = await startService({
    apiKeys: [{ key: API_KEY, kind: 'softsim', publicKey }, NORMAL],
    ...{ allProfilesAlike: true, firstIccid: FIRST_ICCID, ...options },
  })
  running.push(service)
  const directory = `${temporaryDirectory()}/profiles`
  const usual = { '-u': service.url, '-o': directory }
  const line = (args: readonly string[]) => [
    'fetch',
    ...Object.entries(usual).flatMap((option) => (args.includes(option[0]) ? [] : option)),
    ...args,
  ]
  const withKey = (each: Options = {}) => ({ ...each, env: { SOFTSIM_API_KEY: API_KEY, ...each.env } })
  return {
    ...service,
    directory,
    fetch: (args = [], each) => softsim(line(args), withKey(each)),
    startFetch: (args = [], each) => startSoftsim(line(args), withKey(each)),
    asked: () => service.requests.map(({ count }) => count),
    statuses: () => service.requests.map(({ status }) => status),
  }
}

/** Stops all of them. */
export async function closeAll(): Promise<void> {
  for (const service of running.splice(0)) await service.close()
}
