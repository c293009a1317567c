import type { Kind } from '../../failure.ts'
import type { Hints } from './hint.ts'
import { unsetting } from './shell.ts'

/** A mistake in what was typed, or in the environment. */
export class UsageError extends Error {
  readonly hint: string

  constructor(message: string, hint: string) {
    super(message)
    this.name = 'UsageError'
    this.hint = hint
  }
}

/** It can't be an API key, which would be repeated: the last part is short. */
const HOST = /^([a-z0-9-]{1,30}\.){1,4}[a-z]{2,12}(:\d{1,5})?(\/[a-z/]*)?$/i

const USUAL_PATH = '/sims/profiles'

export const USAGE = {
  'bad-proxy': 'use the form http://proxy.example:8080',
  'bad-url': 'check its host and its port: a host contains no space, and a port is at most 65535',
  'key-instead-of-file': ({ platform }) =>
    // `set` and `echo` of cmd would lose its line breaks.
    `save the key to a file, or send it to standard input: ${platform === 'win32' ? 'in PowerShell $env:KEY' : 'printenv KEY'} | softsim next -k -`,
  'nested-directories': 'give directories side by side; nothing was moved',
  'no-receipts': 'name a new file, such as receipt.jsonl; nothing was claimed',
  'not-receipts': 'name the files that next --receipt has written',
  'not-results': 'name the files that the scripts of the stations have written: results.csv',
  'no-web-url': ({ text }) =>
    HOST.test(text)
      ? `did you mean https://${text}${text.includes('/') ? '' : USUAL_PATH}?`
      : 'see softsim help fetch',
  'plain-http': 'use https; plain http is allowed only to this machine (127.0.0.1, ::1, localhost)',
  'profile-as-receipt': 'name a file such as receipt.jsonl; nothing was claimed',
  'profile-as-target': 'check -o; nothing was moved',
  'same-directory': 'check -i and -o; nothing was moved',
  socks: ({ variable, platform }) =>
    `set ${variable} to an HTTP proxy, in the form http://proxy.example:8080; without a proxy: ${unsetting(variable, platform)}`,
  'unchecked-tls': ({ platform }) =>
    `${unsetting('NODE_TLS_REJECT_UNAUTHORIZED', platform)}; if the service uses its own CA, set NODE_EXTRA_CA_CERTS to the CA certificate file`,
  'user-in-url': 'remove them, and set SOFTSIM_API_KEY to the API key',
} as const satisfies Partial<Hints>

/** Messages that name an option. */
export const MESSAGES: Partial<Record<Kind, string>> = {
  'bad-url': 'the value of --url is not a valid URL',
  'key-instead-of-file': '--key takes a file name, but this value looks like the key itself',
  'no-web-url': 'the value of --url is not an http or https URL',
  'user-in-url': '--url must not contain a user name or a password',
}
