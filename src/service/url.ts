import { Failure } from '../failure.ts'

/** Addresses of this machine. Plain text sent to them does not leave it. */
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/**
 * Adds the version of softsim to the query.
 * @throws {Failure} `usage` if others could read the API key on its way
 */
export function endpoint(text: string, version: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined && /^https?:/i.test(text)) {
    throw new Failure('usage', 'the value of --url is not a valid URL', {
      hint: 'check its host and its port: a host contains no space, and a port is at most 65535',
    })
  }
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new Failure('usage', 'the value of --url is not an http or https URL', {
      hint: 'see softsim help fetch',
    })
  }
  if (url.username !== '' || url.password !== '') {
    throw new Failure('usage', '--url must not contain a user name or a password', {
      hint: 'remove them, and set SOFTSIM_API_KEY to the API key',
    })
  }
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname)) {
    throw new Failure('usage', `plain http to ${url.hostname} would expose the API key to the network`, {
      hint: 'use https; plain http is allowed only to this machine (127.0.0.1, ::1, localhost)',
    })
  }
  if (!url.searchParams.has('version')) url.search += `${url.search === '' ? '?' : '&'}version=${version}`
  url.hash = ''
  return url
}

/** @returns undefined if the API key must not follow the redirect */
export function redirectTarget(from: URL, location: string | undefined): URL | undefined {
  if (location === undefined || !URL.canParse(location, from.href)) return undefined
  const to = new URL(location, from.href)
  return to.protocol === 'https:' && to.hostname === from.hostname ? to : undefined
}
