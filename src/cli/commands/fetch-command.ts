import { Option } from 'clipanion'
import { UsageError } from '../../advice/advice.ts'
import { setting } from '../../advice/shell.ts'
import { oddEnd } from '../../words.ts'
import { onInterrupt } from '../signals.ts'
import { BaseCommand, FLUSH_THREADS, notEmpty, parseCount, startThreads } from './base.ts'

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
      'Requests profiles from the service in batches of at most 1000, within its rate limit, and stores each profile in its own file, <iccid>.json. The only file that it overwrites is an unused one that is incomplete or damaged.',
      'Give the API key in the environment variable SOFTSIM_API_KEY rather than with -a: ps shows options to every user of the machine.',
      'fetch uses the environment variables HTTPS_PROXY, ALL_PROXY, HTTP_PROXY, NO_PROXY and NODE_EXTRA_CA_CERTS. After Ctrl-C, it waits up to ten seconds for pending requests, stores the profiles that arrive, and stops. A second Ctrl-C stops it at once.',
    ].join('\n\n'),
    examples: [
      ['Fetch one profile as a test (with SOFTSIM_API_KEY set)', 'softsim fetch'],
      ['Fetch a production lot', 'softsim fetch -n 50000 -o profiles'],
    ] as [string, string][],
  }

  apiKey = Option.String('-a,--api-key', {
    env: 'SOFTSIM_API_KEY',
    description: '<API_KEY>: the API key (default: the environment variable SOFTSIM_API_KEY)',
  })

  count = Option.String('-n,--count', '1', {
    description: '<N>: how many profiles to fetch (default: 1)',
  })

  directory = Option.String('-o,--out', 'profiles', {
    env: 'SOFTSIM_DIR',
    description: '<DIR>: the directory to store them in, created if missing (default: SOFTSIM_DIR, profiles)',
  })

  url = Option.String('-u,--url', 'https://api.onomondo.com/sims/profiles', {
    env: 'SOFTSIM_URL',
    description:
      '<URL>: the full URL of the service endpoint (default: SOFTSIM_URL, https://api.onomondo.com/sims/profiles)',
  })

  override async execute(): Promise<void> {
    const { report, version } = this.context
    report.hide(this.apiKey)
    const apiKey = checkApiKey(this.apiKey)
    // As in the vendor's tool, 02 is 2.
    const count = parseCount(this.count.replace(/^0+(?=\d)/, ''))
    const directory = notEmpty('--out', this.directory)
    const end = oddEnd(directory)
    if (end !== undefined) report.warn(`the name of the directory ${end}`)
    const { standInForStreams } = await import('../terminal/streams.ts')
    standInForStreams()
    const { fetchProfiles } = await import('../../fetch/fetch.ts')
    const { stop, abort, release } = onInterrupt(GRACE_MS, (isLast) =>
      report.warn(isLast ? AT_ONCE : WAITING),
    )
    saveMemory()
    startThreads(FLUSH_THREADS)
    const { url } = this
    const order = { apiKey, count, directory, url, version, messages: report, stop, abort }
    try {
      await this.withProgress((progress) => fetchProfiles({ ...order, progress }))
    } finally {
      release()
    }
  }
}

function saveMemory(): void {
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  // A million profiles pass through memory, but none stays. Peak memory for 20,000 is a third smaller, for a sixth more
  // processor time. Node advises against flags this late, but its flags at start would apply to all commands.
  setFlagsFromString('--optimize-for-size')
  // Another 5 % of memory, for no time.
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** The key becomes an HTTP header value. Any other character is a copying mistake; around the key, it does no harm. */
function checkApiKey(text: string | undefined): string {
  const hint = `set it: ${setting('SOFTSIM_API_KEY')}`
  const apiKey = text === undefined ? undefined : notEmpty('--api-key', text.trim())
  if (apiKey === undefined) throw new UsageError('fetch needs an API key', hint)
  if (/^(["']).*\1$/.test(apiKey))
    throw new UsageError('the API key stands in quotation marks', `remove them; ${hint}`)
  const [, word] = /^(Authorization|Basic|Bearer|Token)[\s:]/i.exec(apiKey) ?? []
  if (word !== undefined)
    throw new UsageError(`the API key begins with "${word}"`, `the service takes the key alone; ${hint}`)
  if (/^[\x21-\x7e]+$/.test(apiKey)) return apiKey
  throw new UsageError('the API key contains a space, a control character or a non-ASCII character', hint)
}
