import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import http, { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import https from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { type PlainProfile, profileStock } from './profiles.ts'

/** A SoftSIM key opens the profile endpoint and nothing else; a normal key, everything but that. */
export type ApiKey =
  | { key: string; kind: 'softsim'; publicKey: string /* SPKI PEM */ }
  | { key: string; kind: 'normal' }

/** What goes wrong with a call. Only those marked so still allocate profiles. */
export type Fault = { times?: number } & (
  | { kind: 'none' } // allocates: lets one call pass untouched
  | { kind: 'status'; status: number; body?: string; headers?: Record<string, string> }
  | { kind: 'redirect'; location: string; status?: number }
  | { kind: 'drop-before' | 'reset' } // FIN or RST in place of an answer
  | { kind: 'drop-after' | 'torn' } // allocates, then closes before or amid the answer
  | { kind: 'delay'; ms: number } // allocates, then keeps the client waiting
  | { kind: 'drip'; ms: number } // allocates, then sends one byte each `ms`
  | { kind: 'short'; by: number } // allocates fewer than asked
  | { kind: 'gzip' } // allocates, and compresses though nobody asked for it
  | { kind: 'bad-entries'; entries: unknown[] } // allocates, and adds these to the answer
  | { kind: 'replace'; profiles: unknown[] } // answers exactly these
  | { kind: 'repeat' } // answers the last completed answer once more
  | { kind: 'garbage'; body: string | Buffer; contentType?: string; status?: number }
  | { kind: 'huge'; bytes?: number } // spaces; without end if `bytes` is left out
)

export interface ServiceOptions {
  apiKeys: ApiKey[]
  /** PEM; also listen with HTTPS. */
  tls?: { key: string; cert: string }
  /** Plain HTTP only redirects to HTTPS; needs `tls`. */
  redirect?: boolean
  /** Calls of one API key in one window, 600 by default. */
  callsPerMinute?: number
  /** How long a window is, 60 by default; it then lasts to the end of the second. */
  windowSeconds?: number
  /** How far the clock of the service is off. */
  clockOffsetSeconds?: number
  /** How many profiles there are in all. */
  supply?: number
  /** How long every answer takes. */
  latencyMs?: number
  /** One ciphertext, without an ICCID in it, serves for all profiles: much faster. */
  allProfilesAlike?: boolean
  /** Where the ICCIDs are counted from; random by default. */
  firstIccid?: number
  iccidDigits?: 19 | 20
  /** Of plain HTTP; any free one by default. */
  port?: number
}

export interface ReceivedRequest {
  /** When it came, by the true clock, in milliseconds. */
  time: number
  secure: boolean
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
  /** Queue faults: each call that would otherwise be granted takes one. */
  fault(...faults: Fault[]): void
  /** Stop at once, open connections too. */
  close(): Promise<void>
}

const PATH = '/sims/profiles'

/** Start a profile service on loopback that behaves as the real one does, and misbehaves when told to. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { tls, redirect = false, latencyMs = 0, supply = Number.POSITIVE_INFINITY } = options
  const { firstIccid = randomInt(1e12), iccidDigits = 20, allProfilesAlike = false } = options
  const stock = profileStock({ firstIccid, iccidDigits, supply, allProfilesAlike })
  const accounts = new Map<string | undefined, Account>()
  for (const apiKey of options.apiKeys) {
    accounts.set(apiKey.key, apiKey.kind === 'softsim' ? { seal: stock.sealer(apiKey.publicKey) } : {})
  }
  const now = () => Date.now() + (options.clockOffsetSeconds ?? 0) * 1000
  const countCall = rateLimit(options.callsPerMinute ?? 600, options.windowSeconds ?? 60, now)
  const faults = faultQueue()
  const requests: ReceivedRequest[] = []
  const delivered = new Map<string, PlainProfile>()
  const allocated = new Map<string, PlainProfile>()
  const sockets = new Set<Socket>()
  let last = profilesAnswer([], [])
  let httpsOrigin: string | undefined

  const allocate = ({ count, seal }: Granted, fault: Fault): Answer => {
    if (stock.left() <= 0) return textAnswer(404, 'there are no more profiles')
    const profiles = stock.take(fault.kind === 'short' ? Math.max(0, count - fault.by) : count)
    for (const profile of profiles) allocated.set(profile.iccid, profile)
    const spoilt = fault.kind === 'bad-entries' ? fault.entries : []
    const entries = [...profiles.map(seal), ...spoilt.map((entry) => JSON.stringify(entry))]
    const answer = profilesAnswer(entries, profiles)
    if (fault.kind !== 'gzip') return answer
    return { ...answer, headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body: gzipSync(answer.body) }
  }

  const send = async (res: ServerResponse, received: ReceivedRequest, answer: Answer, fault: Fault) => {
    await sleep(latencyMs + (fault.kind === 'delay' ? fault.ms : 0), undefined, { ref: false })
    if (fault.kind === 'drop-after') res.destroy()
    if (res.destroyed) return
    received.status = answer.status
    res.setHeader('date', new Date(now()).toUTCString())
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

  const listen = async (server: http.Server, secure: boolean, port = 0) => {
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
    server.listen(port, '127.0.0.1')
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
  const url = `http://127.0.0.1:${await listen(server, false, options.port)}${PATH}`

  return {
    url,
    ...(httpsOrigin !== undefined && { httpsUrl: httpsOrigin + PATH }),
    requests,
    delivered,
    allocated,
    fault: faults.add,
    async close() {
      const closed = servers.map((server) => once(server.close(), 'close'))
      for (const socket of sockets) socket.destroy()
      await Promise.all(closed)
    },
  }
}

interface Answer {
  status: number
  headers: Record<string, string>
  body: Buffer
  /** Delivered once the answer is sent. */
  profiles: PlainProfile[]
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

const NONE: Fault = { kind: 'none' }
const JSON_TYPE = { 'content-type': 'application/json' }

function textAnswer(status: number, message: string, headers: Record<string, string> = {}): Answer {
  return {
    status,
    headers: { 'content-type': 'text/plain', ...headers },
    body: Buffer.from(message),
    profiles: [],
  }
}

function profilesAnswer(entries: string[], profiles: PlainProfile[]): Answer {
  const body = Buffer.from(`{"count":${entries.length},"profiles":[${entries.join(',')}]}`)
  return { status: 200, headers: JSON_TYPE, body, profiles }
}

function receive(req: IncomingMessage, secure: boolean): ReceivedRequest {
  const { pathname: path, searchParams: query } = new URL(req.url ?? '/', 'http://localhost')
  const { method = '', headers } = req
  return { time: Date.now(), secure, method, path, query, headers, count: undefined, status: undefined }
}

function countAsked(body: string): number | undefined {
  try {
    const { count } = JSON.parse(body)
    return Number.isInteger(count) ? count : undefined
  } catch {
    return undefined
  }
}

/** A fixed window for each API key; its end is a whole second, as the header can tell no other. */
function rateLimit(limit: number, seconds: number, now: () => number) {
  const windows = new Map<string | undefined, { calls: number; reset: number }>()
  return (key: string | undefined) => {
    let window = windows.get(key)
    if (window === undefined || now() >= window.reset * 1000) {
      window = { calls: 0, reset: Math.ceil(now() / 1000 + seconds) }
      windows.set(key, window)
    }
    window.calls += 1
    const headers = {
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(Math.max(0, limit - window.calls)),
      'x-ratelimit-reset': String(window.reset),
    }
    if (window.calls <= limit) return { headers }
    const retryAfter = String(Math.ceil(window.reset - now() / 1000))
    return { headers, refusal: textAnswer(429, 'the rate limit is reached', { 'retry-after': retryAfter }) }
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

function faultQueue() {
  const queue: { fault: Fault; left: number }[] = []
  return {
    add(...faults: Fault[]) {
      queue.push(...faults.map((fault) => ({ fault, left: fault.times ?? 1 })))
    },
    take(): Fault {
      const first = queue[0]
      if (first === undefined) return NONE
      first.left -= 1
      if (first.left <= 0) queue.shift()
      return first.fault
    },
  }
}

/** The answer of a fault that allocates nothing. */
function substitute(fault: Fault, last: Answer): Answer | undefined {
  switch (fault.kind) {
    case 'status':
      return textAnswer(fault.status, fault.body ?? `status ${fault.status}`, fault.headers)
    case 'redirect':
      return textAnswer(fault.status ?? 308, 'it is elsewhere', { location: fault.location })
    case 'garbage': {
      const headers = { 'content-type': fault.contentType ?? 'application/json' }
      return { status: fault.status ?? 200, headers, body: Buffer.from(fault.body), profiles: [] }
    }
    case 'replace':
      return profilesAnswer(
        fault.profiles.map((profile) => JSON.stringify(profile)),
        [],
      )
    case 'huge':
      return profilesAnswer([], [])
    case 'repeat':
      return last
    default:
      return undefined
  }
}

async function write(res: ServerResponse, { status, headers, body }: Answer, fault: Fault): Promise<void> {
  if (fault.kind === 'huge') {
    res.writeHead(status, headers)
    return pipeline(spaces(fault.bytes ?? Number.POSITIVE_INFINITY), res)
  }
  res.writeHead(status, { ...headers, 'content-length': body.length })
  if (fault.kind === 'torn') {
    res.write(body.subarray(0, body.length / 2), () => res.destroy())
  } else if (fault.kind === 'drip') {
    for (const byte of body) {
      if (res.destroyed) return
      res.write(Buffer.of(byte))
      await sleep(fault.ms, undefined, { ref: false })
    }
    res.end()
  } else {
    res.end(body)
  }
}

function* spaces(bytes: number): Generator<Buffer> {
  const chunk = Buffer.alloc(65_536, ' ')
  for (let left = bytes; left > 0; left -= chunk.length) yield chunk.subarray(0, Math.min(left, chunk.length))
}

/** Below TLS: only the TCP socket itself can be reset. */
function reset(socket: Socket, sockets: Iterable<Socket>): void {
  for (const tcp of sockets) {
    if (tcp.remotePort === socket.remotePort && tcp.localPort === socket.localPort) tcp.resetAndDestroy()
  }
}
