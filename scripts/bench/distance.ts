import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Distance {
  /** On loopback. */
  readonly port: number
  /** How many connections were opened so far. */
  connections(): number
}

/** Lets a service on loopback look as if it was far away: each connection and each part of it takes its time. */
export async function startDistance(port: number, roundTripMs: number): Promise<Distance> {
  let connections = 0
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (near) => {
    connections++
    const far = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    // TCP's handshake is a round trip, too.
    lag(near, far, roundTripMs / 2, roundTripMs)
    lag(far, near, roundTripMs / 2)
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const)
      socket.on('error', () => other.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, connections: () => connections }
}

/** @param moreMs for the first part; the other side waits for it before it says anything */
function lag(from: Socket, to: Socket, ms: number, moreMs = 0): void {
  let isFirst = true
  from.on('data', (part) => {
    setTimeout(() => to.write(part), isFirst ? ms + moreMs : ms)
    isFirst = false
  })
  from.on('end', () => setTimeout(() => to.end(), ms))
}
