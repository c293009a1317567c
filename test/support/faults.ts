import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PlainProfile } from './profiles.ts'

/** What the service is about to send. */
export interface Answer {
  status: number
  headers: Record<string, string>
  body: Buffer
  /** Delivered once the answer is sent. */
  profiles: PlainProfile[]
}

export const JSON_TYPE = { 'content-type': 'application/json' }

export function textAnswer(status: number, message: string, headers: Record<string, string> = {}): Answer {
  const all = { 'content-type': 'text/plain', ...headers }
  return { status, headers: all, body: Buffer.from(message), profiles: [] }
}

export function profilesAnswer(entries: string[], profiles: PlainProfile[]): Answer {
  const body = Buffer.from(`{"count":${entries.length},"profiles":[${entries.join(',')}]}`)
  return { status: 200, headers: JSON_TYPE, body, profiles }
}

/** What goes wrong with a call. Only those marked so still allocate profiles. */
export type Fault = { times?: number } & (
  | { kind: 'none' } // allocates: lets one call pass untouched
  | { kind: 'status'; status: number; body?: string; headers?: Record<string, string> }
  | { kind: 'redirect'; location: string; status?: number }
  | { kind: 'drop-before' | 'reset' } // FIN or RST in place of an answer
  | { kind: 'lost'; status: number } // allocates, then answers that something failed
  | { kind: 'drop-after' } // allocates, then closes before the answer
  | { kind: 'torn'; status?: number; headers?: Record<string, string> } // allocates, then closes amid the answer, which may have another status and more headers
  | { kind: 'torn-after'; bytes: number } // allocates, then closes after so many bytes, unless that is all
  | { kind: 'close-after' } // allocates, answers, and closes the connection without having said so
  | { kind: 'delay'; ms: number } // allocates, then keeps the client waiting
  | { kind: 'hold'; until: Promise<unknown> } // allocates, then keeps the client waiting until that has come
  | { kind: 'drip'; ms: number; bytes?: number } // allocates, then sends so many bytes, or one, each `ms`
  | { kind: 'short'; by: number } // allocates fewer than asked
  | { kind: 'dressed'; headers?: Record<string, string>; before?: string } // allocates; the answer has these headers, and this first
  | { kind: 'bad-entries'; entries: unknown[] } // allocates, and adds these to the answer
  | { kind: 'replace'; profiles: unknown[] } // answers exactly these
  | { kind: 'repeat'; headers?: Record<string, string> } // answers the last completed answer once more, as a cache does
  | { kind: 'garbage'; body: string | Buffer; contentType?: string; status?: number }
)

export const NONE: Fault = { kind: 'none' }

export function faultQueue() {
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
export function substitute(fault: Fault, last: Answer): Answer | undefined {
  switch (fault.kind) {
    case 'status':
      return textAnswer(fault.status, fault.body ?? `status ${fault.status}`, fault.headers)
    case 'redirect':
      return textAnswer(fault.status ?? 308, 'it is elsewhere', { location: fault.location })
    case 'garbage': {
      const headers = { 'content-type': fault.contentType ?? 'application/json' }
      return { status: fault.status ?? 200, headers, body: Buffer.from(fault.body), profiles: [] }
    }
    case 'replace': {
      const entries = fault.profiles.map((profile) => JSON.stringify(profile))
      return profilesAnswer(entries, [])
    }
    case 'repeat':
      return { ...last, headers: { ...last.headers, ...fault.headers } }
    default:
      return undefined
  }
}

export async function write(res: ServerResponse, answer: Answer, fault: Fault): Promise<void> {
  const { status, headers, body } = answer
  const torn = fault.kind === 'torn' ? fault : undefined
  res.writeHead(torn?.status ?? status, { ...headers, ...torn?.headers, 'content-length': body.length })
  if (fault.kind === 'torn') {
    res.write(body.subarray(0, body.length / 2), () => res.destroy())
  } else if (fault.kind === 'torn-after' && body.length > fault.bytes) {
    res.write(body.subarray(0, fault.bytes), () => res.destroy())
  } else if (fault.kind === 'drip') {
    const { bytes = 1 } = fault
    for (let at = 0; at < body.length; at += bytes) {
      if (res.destroyed) return
      res.write(body.subarray(at, at + bytes))
      await sleep(fault.ms, undefined, { ref: false })
    }
    res.end()
  } else {
    const { socket } = res
    res.end(body, () => fault.kind === 'close-after' && socket?.end())
  }
}

/** Below TLS: only the TCP socket itself can be reset. */
export function reset(socket: Socket, sockets: Iterable<Socket>): void {
  for (const tcp of sockets) {
    if (tcp.remotePort === socket.remotePort && tcp.localPort === socket.localPort) tcp.resetAndDestroy()
  }
}
