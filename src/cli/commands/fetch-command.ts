/** `softsim fetch`: its options, the API key, and how long Ctrl-C waits for open requests. */
import { UsageError } from '../../failure.ts'
import { withProgress } from '../progress.ts'
import { onInterrupt } from '../streams.ts'
import * as value from './options.ts'
import { BaseCommand, single, startThreads } from './options.ts'

/** Time that pending requests get after Ctrl-C. Their profiles are already paid for. */
const GRACE_MS = 10_000

const WAITING = `interrupted: waiting up to ${GRACE_MS / 1000} s for pending requests; press Ctrl-C again to stop at once`
const AT_ONCE =
  'stopped at once: the next fetch or next stores the profiles already received; those of pending requests are lost'

export class FetchCommand extends BaseCommand {
  static override paths = [['fetch']]
  static override usage = {
    description: 'download encrypted profiles into a directory, before production',
    details: [
      'Requests profiles from the service in batches of at most 1000, within its rate limit, and stores each profile in its own file, <iccid>.json. A script that runs again and again uses --stock: it orders what is missing. Run one at a time.',
      'Give the API key in the environment variable SOFTSIM_API_KEY rather than with -a: ps shows options to every user of the machine.',
      'fetch uses the environment variables HTTPS_PROXY, ALL_PROXY, HTTP_PROXY, NO_PROXY and NODE_EXTRA_CA_CERTS. After Ctrl-C, it waits up to ten seconds for pending requests, stores the profiles that arrive, and stops. A second Ctrl-C stops it at once.',
    ].join('\n\n'),
    examples: [
      ['Fetch one profile as a test (with SOFTSIM_API_KEY set)', 'softsim fetch'],
      ['See to it that 5000 unused profiles are there', 'softsim fetch --stock 5000 -o profiles'],
    ] as [string, string][],
  }

  apiKey = single(
    '-a,--api-key',
    '<API_KEY>: the API key (default: SOFTSIM_API_KEY)',
    parseApiKey,
    'SOFTSIM_API_KEY',
  )

  count = single('-n,--count', '<N>: how many profiles to fetch (default: 1)', value.count)

  stock = single('--stock', '<N>: fetch what is missing to so many unused profiles', value.count)

  directory = single(
    '-o,--out',
    '<DIR>: where to store them, created if missing (default: SOFTSIM_DIR, profiles)',
    value.directory,
    'SOFTSIM_DIR',
  )

  url = single(
    '-u,--url',
    '<URL>: the URL of the service (default: SOFTSIM_URL, https://api.onomondo.com/sims/profiles)',
    value.nameLike('https://api.onomondo.com/sims/profiles'),
    'SOFTSIM_URL',
  )

  override async execute(): Promise<void> {
    const { report, version } = this.context
    const { apiKey, stock } = this
    if (apiKey === undefined) throw new UsageError('fetch needs an API key', 'set SOFTSIM_API_KEY to it')
    report.hide(apiKey)
    value.refuse(stock && this.count, "--stock and -n can't be used together", 'give one of them')
    const { fetchProfiles } = await import('../../fetch/fetch.ts')
    const { stop, abort, release } = onInterrupt(GRACE_MS, (isLast) =>
      report.warn(isLast ? AT_ONCE : WAITING),
    )
    startThreads()
    saveMemory()
    const order = {
      ...{ apiKey, version, stock, stop, abort, messages: report },
      count: this.count ?? 1,
      directory: this.directory ?? 'profiles',
      url: this.url ?? 'https://api.onomondo.com/sims/profiles',
    }
    try {
      await withProgress(report, (progress) => fetchProfiles({ ...order, progress }))
    } finally {
      release()
    }
  }
}

/**
 * Peak memory for 30,000 profiles is about 105 MB in place of 180, for less processor time. V8 would optimize the parser of
 * undici, a WebAssembly that only passes bodies on, for 14 MB.
 */
function saveMemory(): void {
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  const flags = [
    '--heap-growing-percent=20',
    '--semi-space-growth-factor=1',
    '--wasm-tiering-budget=2000000000',
  ]
  for (const flag of flags) setFlagsFromString(flag)
}

/** The key becomes a value of an HTTP header. */
function parseApiKey(text: string, name: string): string {
  const apiKey = value.nameLike('...')(text, name)
  const hint = 'the service takes the key alone, as it was given to you'
  const [, word] = /^(Authorization|Basic|Bearer|Token)[\s:]/i.exec(apiKey) ?? []
  if (word !== undefined) throw new UsageError(`the value of ${name} begins with "${word}"`, hint)
  if (/^[\x21-\x7e]+$/.test(apiKey)) return apiKey
  throw new UsageError(`the value of ${name} has a space or a character that is not ASCII in it`, hint)
}
