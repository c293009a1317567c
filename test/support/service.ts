import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import http, { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import https from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Answer,
  type Fault,
  faultQueue,
  JSON_TYPE,
  NONE,
  profilesAnswer,
  reset,
  substitute,
  textAnswer,
  write,
} from './faults.ts'
import { type PlainProfile, profileStock } from './profiles.ts'

export type { Fault } from './faults.ts'

/** A SoftSIM key opens the profile endpoint and nothing else; a normal key, everything but that. */
export type ApiKey =
  | { key: string; kind: 'softsim'; publicKey: string /* SPKI PEM */ }
  | { key: string; kind: 'normal' }

export interface ServiceOptions {
  apiKeys: ApiKey[]
  /** PEM; also listen with HTTPS. `ciphers` may lower what OpenSSL asks of a certificate. */
  tls?: { key: string; cert: string; ciphers?: string }
  /** Plain HTTP only redirects to HTTPS; needs `tls`. */
  redirect?: boolean
  /** Calls of one API key in one window, 600 by default. It lasts a minute, to the end of the second. */
  callsPerMinute?: number
  /** How many profiles there are in all. */
  supply?: number
  /** How long it keeps a connection without a request, and promises to; 0: for ever, without a promise. */
  keepAliveMs?: number
  /** One ciphertext, without an ICCID in it, serves for all profiles: much faster. */
  allProfilesAlike?: boolean
  /** Where the ICCIDs are counted from; random by default. */
  firstIccid?: number
}

export interface ReceivedRequest {
  /** When it came, by the true clock, in milliseconds. */
  time: number
  secure: boolean
  /** The port of the client: the same for all requests of a connection. */
  connection: number
  method: string
  path: string
  query: URLSearchParams
  headers: IncomingHttpHeaders
  /** The count asked for, if there was a whole number. */
  count: number | undefined
  /** What was answered; 'dropped' if it did not go out whole, undefined before it is sent. */
  status: number | 'dropped' | undefined
}

export interface Service {
  url: string
  httpsUrl?: string
  requests: ReceivedRequest[]
  /** By ICCID, what went out in answers that were sent whole. */
  delivered: Map<string, PlainProfile>
  /** By ICCID, what was allocated, delivered or not. */
  allocated: Map<string, PlainProfile>
  openConnections(): number
  /** Queue faults: each call that would otherwise be granted takes one. */
  fault(...faults: Fault[]): void
  /** Stop at once, open connections too. */
  close(): Promise<void>
}

const PATH = '/sims/profiles'

/** Start a profile service on loopback that behaves as the real one does, and misbehaves when told to. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { tls, redirect = false, supply = Number.POSITIVE_INFINITY } = options
  const { firstIccid = randomInt(1e12), allProfilesAlike = false } = options
  const stock = profileStock({ firstIccid, supply, allProfilesAlike })
  const accounts = new Map<string | undefined, Account>()
  for (const apiKey of options.apiKeys) {
    accounts.set(apiKey.key, apiKey.kind === 'softsim' ? { seal: stock.sealer(apiKey.publicKey) } : {})
  }
  const countCall = rateLimit(options.callsPerMinute ?? 600)
  const faults = faultQueue()
  const requests: ReceivedRequest[] = []
  const delivered = new Map<string, PlainProfile>()
  const allocated = new Map<string, PlainProfile>()
  const sockets = new Set<Socket>()
  let last = profilesAnswer([], [])
  let httpsOrigin: string | undefined

  const allocate = ({ count, seal }: Granted, fault: Fault): Answer => {
    if (stock.left() <= 0) return textAnswer(404, 'there are no more profiles')
    const profiles = stock.take('by' in fault ? Math.max(0, count - fault.by) : count)
    for (const profile of profiles) allocated.set(profile.iccid, profile)
    const spoilt = fault.kind === 'bad-entries' ? fault.entries : []
    const entries = [...profiles.map(seal), ...spoilt.map((entry) => JSON.stringify(entry))]
    if (fault.kind === 'lost') return textAnswer(fault.status, 'the answer was lost')
    const answer = profilesAnswer(entries, profiles)
    if (fault.kind === 'dressed') {
      const { headers, before = '' } = fault
      const body = Buffer.concat([Buffer.from(before), answer.body])
      return { ...answer, headers: { ...JSON_TYPE, ...headers }, body }
    }
    return answer
  }

  const send = async (res: ServerResponse, received: ReceivedRequest, answer: Answer, fault: Fault) => {
    if (fault.kind === 'delay') await sleep(fault.ms, undefined, { ref: false })
    if (fault.kind === 'hold') await fault.until
    if (fault.kind === 'drop-after') res.destroy()
    if (res.destroyed) return
    received.status = answer.status
    res.setHeader('date', new Date().toUTCString())
    res.once('finish', () => {
      for (const profile of answer.profiles) delivered.set(profile.iccid, profile)
      if (answer.profiles.length > 0) last = answer
    })
    await write(res, answer, fault)
  }

  const serve = async (req: IncomingMessage, res: ServerResponse, secure: boolean) => {
    const received = receive(req, secure)
    requests.push(received)
    res.once('close', () => {
      if (!res.writableFinished) received.status = 'dropped'
    })
    received.count = countAsked(await text(req))

    if (redirect && !secure) {
      return send(res, received, textAnswer(308, 'use HTTPS', { location: `${httpsOrigin}${req.url}` }), NONE)
    }
    const window = countCall(req.headers.authorization)
    for (const [name, value] of Object.entries(window.headers)) res.setHeader(name, value)
    const judged = window.refusal ?? judge(received, accounts.get(req.headers.authorization))
    if ('status' in judged) return send(res, received, judged, NONE)

    const fault = faults.take()
    if (fault.kind === 'drop-before') return void res.destroy()
    if (fault.kind === 'reset') return reset(req.socket, sockets)
    await send(res, received, substitute(fault, last) ?? allocate(judged, fault), fault)
  }

  const listen = async (server: http.Server, secure: boolean) => {
    server.on('request', (req, res) => {
      serve(req, res, secure).catch((error) => {
        // A client that went away is part of many tests; anything else is a mistake of this service.
        if (!res.destroyed) res.writeHead(500).end(String(error))
      })
    })
    server.on('connection', (socket) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    })
    server.keepAliveTimeout = options.keepAliveMs ?? 5000
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }

  const servers: http.Server[] = []
  if (tls) {
    const server = https.createServer(tls)
    servers.push(server)
    httpsOrigin = `https://localhost:${await listen(server, true)}`
  }
  const server = http.createServer()
  servers.push(server)
  const url = `http://127.0.0.1:${await listen(server, false)}${PATH}`

  return {
    url,
    ...(httpsOrigin !== undefined && { httpsUrl: httpsOrigin + PATH }),
    ...{ requests, delivered, allocated },
    openConnections: () => sockets.size,
    fault: faults.add,
    async close() {
      const closed = servers.map((server) => once(server.close(), 'close'))
      for (const socket of sockets) socket.destroy()
      await Promise.all(closed)
    },
  }
}

type Seal = (profile: PlainProfile) => string

/** Only a SoftSIM key has something to encrypt with. */
interface Account {
  seal?: Seal
}

interface Granted {
  count: number
  seal: Seal
}

function receive(req: IncomingMessage, secure: boolean): ReceivedRequest {
  const { pathname: path, searchParams: query } = new URL(req.url ?? '/', 'http://localhost')
  const { method = '', headers } = req
  const connection = req.socket.remotePort ?? 0
  const call = { method, path, query, headers, count: undefined, status: undefined }
  return { time: Date.now(), secure, connection, ...call }
}

function countAsked(body: string): number | undefined {
  try {
    const { count } = JSON.parse(body)
    return Number.isInteger(count) ? count : undefined
  } catch {
    return undefined
  }
}

function judge(received: ReceivedRequest, account: Account | undefined): Answer | Granted {
  const { path, method, query, headers, count } = received
  if (account === undefined) return textAnswer(401, 'the API key is not known')
  const { seal } = account
  if ((path === PATH) !== (seal !== undefined)) return textAnswer(403, 'the API key may not be used here')
  if (seal === undefined) return textAnswer(404, 'there is nothing here')
  if (method !== 'GET') return textAnswer(405, 'only GET will do', { allow: 'GET' })
  if (!query.get('version')) return textAnswer(400, 'the query must have a version')
  if (headers['content-type'] !== 'application/json')
    return textAnswer(400, 'the body must be application/json')
  if (count === undefined || count < 1 || count > 1000) return textAnswer(400, 'count must be 1 to 1000')
  return { count, seal }
}

/**
 * A window for each API key; its end is a whole second, as the header can tell no other. It ends a minute after it is used
 * up: a client on a busy machine can't miss it.
 */
function rateLimit(limit: number) {
  const windows = new Map<string | undefined, { calls: number; reset: number }>()
  return (key: string | undefined) => {
    let window = windows.get(key)
    if (window === undefined || (window.calls >= limit && Date.now() >= window.reset * 1000)) {
      window = { calls: 0, reset: 0 }
      windows.set(key, window)
    }
    window.calls += 1
    if (window.calls <= limit) window.reset = Math.ceil(Date.now() / 1000 + 60)
    const headers = {
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(Math.max(0, limit - window.calls)),
      'x-ratelimit-reset': String(window.reset),
    }
    if (window.calls <= limit) return { headers }
    const retryAfter = String(Math.ceil(window.reset - Date.now() / 1000))
    return { headers, refusal: textAnswer(429, 'the rate limit is reached', { 'retry-after': retryAfter }) }
  }
}
