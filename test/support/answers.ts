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
  return {
    status,
    headers: { 'content-type': 'text/plain', ...headers },
    body: Buffer.from(message),
    profiles: [],
  }
}

export function profilesAnswer(entries: string[], profiles: PlainProfile[]): Answer {
  const body = Buffer.from(`{"count":${entries.length},"profiles":[${entries.join(',')}]}`)
  return { status: 200, headers: JSON_TYPE, body, profiles }
}
