import { Option } from 'clipanion'
import { Failure } from '../../failure.ts'
import { setting } from '../../words.ts'
import { BaseCommand, notEmpty, parseCount } from './base.ts'

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
    const { report, env } = this.context
    const apiKey = this.apiKey ?? env['SOFTSIM_API_KEY']
    report.hide(apiKey)
    // Loaded here: `next` shares the program, starts 50,000 times and needs none of it.
    const { standInForStreams } = await import('../streams.ts')
    standInForStreams(report.write)
    const { fetchProfiles } = await import('../../fetch/fetch.ts')
    await fetchProfiles({
      apiKey: checkKey(apiKey),
      count: parseCount(this.count),
      directory: notEmpty('--out', this.directory),
      url: this.url,
      env,
      report,
    })
  }
}

/** A header's value: anything else in a key is a slip of copying, and would be refused less plainly. */
function checkKey(apiKey: string | undefined): string {
  const hint = `set it: ${setting('SOFTSIM_API_KEY')}`
  if (!apiKey) throw new Failure('usage', 'fetch needs an API key', { hint })
  if (/^[\x21-\x7e]+$/.test(apiKey)) return apiKey
  throw new Failure('usage', 'the API key has a blank, a line break or a letter that no key has', { hint })
}
