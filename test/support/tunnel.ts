import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import { type AddressInfo, connect } from 'node:net'

export interface Tunnel {
  /** For HTTPS_PROXY; with the name and password given. */
  url: string
  /** What it was asked to connect to. */
  targets: string[]
  /** The headers of each CONNECT. */
  headers: http.IncomingHttpHeaders[]
  close: () => void
}

export interface TunnelOptions {
  /** The name and password that it is given. */
  user?: string
  /** The statuses it answers to its first calls, one after the other; 0 hangs up. */
  refusals?: number[]
  /** The logins that it offers with 407 (Proxy-Authenticate), a header for each. */
  logins?: string[]
  /** PEM; then it is an HTTPS proxy. */
  tls?: { key: string; cert: string }
}

/** An HTTP proxy on loopback that does nothing but CONNECT (RFC 9110 9.3.6), or answers it with a refusal. */
export async function startTunnel({
  user = '',
  refusals = [],
  logins = [],
  tls,
}: TunnelOptions = {}): Promise<Tunnel> {
  const left = [...refusals]
  const targets: string[] = []
  const headers: http.IncomingHttpHeaders[] = []
  const refuse: http.RequestListener = (_, response) => response.writeHead(405).end()
  const server = tls === undefined ? http.createServer(refuse) : https.createServer(tls, refuse)
  server.on('connect', (request, socket, head) => {
    const { hostname, port } = new URL(`http://${request.url}`)
    targets.push(request.url ?? '')
    headers.push(request.headers)
    socket.on('error', () => {})
    const refusal = left.shift()
    if (refusal === 0) return void socket.destroy()
    const challenges = logins.map((login) => `Proxy-Authenticate: ${login}\r\n`).join('')
    if (refusal !== undefined) return void socket.end(`HTTP/1.1 ${refusal} Refused\r\n${challenges}\r\n`)
    const remote = connect(Number(port), hostname, () => {
      socket.write('HTTP/1.1 200 Connected\r\n\r\n')
      remote.write(head)
      remote.pipe(socket).pipe(remote)
    })
    remote.on('error', () => socket.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http${tls === undefined ? '' : 's'}://${user && `${user}@`}127.0.0.1:${port}`,
    targets,
    headers,
    close: () => server.close(),
  }
}
