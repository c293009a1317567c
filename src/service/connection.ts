import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import Agent from 'undici/lib/dispatcher/agent.js'
import type Dispatcher from 'undici/lib/dispatcher/dispatcher.js'

/** Per address of a host. Node's default of a quarter of a second gives up addresses that are merely far away. */
export const ADDRESS_MS = 5000

const CONTINUE = /^(?:HTTP\/1\.\d 100[\s\S]*?\r\n\r\n)+/
const LONGEST_CONTINUE = 1024

/** However long the service keeps a connection without a request, it is closed after this time. */
const LONGEST_IDLE_MS = 10_000

/** Times are in milliseconds. */
export interface Bounds {
  /** At once. More requests would wait for one of them. */
  readonly connections: number
  /** Until the connection is open, including TLS. */
  readonly connect: number
  /** From the request to the headers of the answer, and between two parts of its body. */
  readonly silence: number
  /** How long a connection without a request stays open, unless the service tells how long it keeps it. */
  readonly idle: number
}

export const directly = (bounds: Bounds): Dispatcher => new Agent(optionsOf(bounds))

/** Also trusts the CAs of this system, beside those that Node brings and NODE_EXTRA_CA_CERTS names. */
export const trustSystem = (): void =>
  setDefaultCACertificates([...getCACertificates('default'), ...getCACertificates('system')])

/**
 * Skips each 100 (Continue), which a service or a proxy may send unasked (RFC 9110 15.2): undici would close the
 * connection, and the profiles of the answer would be lost. No body has these bytes, and each comes in one piece.
 */
subscribe('undici:client:connected', (message) => {
  const { socket } = message as { socket: Socket }
  const read = socket.read.bind(socket)
  socket.read = (size) => {
    const bytes: Buffer | null = read(size)
    const [interim = ''] = CONTINUE.exec(bytes?.toString('latin1', 0, LONGEST_CONTINUE) ?? '') ?? []
    return bytes?.subarray(interim.length) ?? null
  }
})

/** Calls back when a connection is about to send the request: from then on it may cost profiles. */
export const beforeSending =
  (tell: () => void): Dispatcher.DispatcherComposeInterceptor =>
  (dispatch) =>
  (options, handler) => {
    const start = handler.onRequestStart?.bind(handler)
    return dispatch(
      options,
      Object.assign(handler, {
        onRequestStart(controller: Dispatcher.DispatchController, context: unknown) {
          start?.(controller, context)
          // One that was called off while it waited for a connection ends here, unsent.
          if (!controller.aborted) tell()
        },
      }),
    )
  }

export const optionsOf = ({ connections, connect, silence, idle }: Bounds) => ({
  connections,
  allowH2: false,
  connect: { timeout: connect, rejectUnauthorized: true, autoSelectFamilyAttemptTimeout: ADDRESS_MS },
  headersTimeout: silence,
  bodyTimeout: silence,
  keepAliveTimeout: idle,
  keepAliveMaxTimeout: LONGEST_IDLE_MS,
})
