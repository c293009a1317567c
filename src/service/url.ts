import { Failure } from '../failure.ts'

/** Where the service is, on any host. */
export const USUAL_PATH = '/sims/profiles'

/** Addresses of this machine. Plain text sent to them does not leave it. */
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/**
 * Adds the version of softsim to the query.
 * @throws {Failure} `usage` if others could read the API key on its way
 */
export function endpoint(text: string, version: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined && /^https?:/i.test(text)) throw new Failure('bad-url')
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new Failure({ kind: 'no-web-url', text })
  if (url.username !== '' || url.password !== '') throw new Failure('user-in-url')
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname))
    throw new Failure('plain-http', `plain http to ${url.hostname} would expose the API key to the network`)
  if (!url.searchParams.has('version')) url.search += `${url.search === '' ? '?' : '&'}version=${version}`
  url.hash = ''
  return url
}

/** @returns undefined if the API key must not follow the redirect */
export function redirectTarget(from: URL, location: string | string[] | undefined): URL | undefined {
  if (typeof location !== 'string' || !URL.canParse(location, from.href)) return undefined
  const to = new URL(location, from.href)
  return to.protocol === 'https:' && to.hostname === from.hostname ? to : undefined
}
