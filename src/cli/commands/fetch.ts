import { Option } from 'clipanion'
import { Failure } from '../../failure.ts'
import { setting } from '../../words.ts'
import { writeStandardError } from '../report.ts'
import { onInterrupt } from '../signals.ts'
import { BaseCommand, notEmpty, parseCount } from './base.ts'

/** Time that pending requests get after Ctrl-C. Their profiles are already paid for. */
const GRACE_MS = 10_000

const WAITING = `interrupted: waiting up to ${GRACE_MS / 1000} s for answers under way; Ctrl-C again ends at once`
const AT_ONCE =
  'ended at once: what was received is stored by the next fetch or next, what was under way is lost'

export class FetchCommand extends BaseCommand {
  static override paths = [['fetch']]
  static override usage = {
    description: 'download encrypted profiles into a directory, before production',
    details: [
      'Asks the service for profiles in batches of at most 1000, within its rate limit, and stores each in a file of its own, <iccid>.json. What is already in the directory is never overwritten.',
      'The API key is better given in the environment variable SOFTSIM_API_KEY: ps shows options to everybody on the machine.',
      'HTTPS_PROXY, HTTP_PROXY, NO_PROXY and NODE_EXTRA_CA_CERTS are respected. Ctrl-C waits up to ten seconds for answers under way, stores them and ends; a second one ends at once.',
    ].join('\n\n'),
    examples: [
      ['One profile, to try it (SOFTSIM_API_KEY is set)', 'softsim fetch'],
      ['A production lot', 'softsim fetch -n 50000 -o profiles'],
    ] as [string, string][],
  }

  apiKey = Option.String('-a,--api-key', {
    env: 'SOFTSIM_API_KEY',
    description: '<API_KEY>: the API key (default: the environment variable SOFTSIM_API_KEY)',
  })

  count = Option.String('-n,--count', '1', {
    description: '<NUM_OF_PROFILES>: how many profiles to fetch (default: 1)',
  })

  directory = Option.String('-o,--out', 'profiles', {
    description: '<OUTPUT>: the directory to store them in, made where it is missing (default: profiles)',
  })

  url = Option.String('-u,--url', 'https://api.onomondo.com/sims/profiles', {
    description: '<URL>: the whole endpoint (default: https://api.onomondo.com/sims/profiles)',
  })

  override async execute(): Promise<void> {
    const { report, version } = this.context
    report.hide(this.apiKey)
    const apiKey = checkApiKey(this.apiKey)
    const count = parseCount(this.count)
    const directory = notEmpty('--out', this.directory)
    // Loaded on demand: `next` shares this program, starts 50,000 times and needs none of it.
    const { standInForStreams } = await import('../streams.ts')
    standInForStreams(writeStandardError)
    const { fetchProfiles } = await import('../../fetch/fetch.ts')
    const { startProgress } = await import('../progress.ts')
    const interrupt = onInterrupt(GRACE_MS, (isLast) => report.warn(isLast ? AT_ONCE : WAITING))
    const progress = await startProgress(report)
    try {
      const { stop, abort } = interrupt
      const { url } = this
      await fetchProfiles({
        apiKey,
        count,
        directory,
        url,
        version,
        messages: report,
        progress,
        stop,
        abort,
      })
    } finally {
      progress.end()
      interrupt.release()
    }
  }
}

/** The key becomes an HTTP header value. Any other character is a copying mistake. */
function checkApiKey(apiKey: string | undefined): string {
  const hint = `set it: ${setting('SOFTSIM_API_KEY')}`
  if (!apiKey) throw new Failure('usage', 'fetch needs an API key', { hint })
  if (/^[\x21-\x7e]+$/.test(apiKey)) return apiKey
  throw new Failure('usage', 'the API key has a blank, a line break or a letter that no key has', { hint })
}
