import { expect, test } from 'vitest'
import { HeldMessages } from '../../src/next/held-messages.ts'

test('messages are kept back from hold to release, in their order', () => {
  const said: string[] = []
  const messages = new HeldMessages({
    warn: (text) => void said.push(`warning: ${text}`),
    tell: (level, text) => void said.push(`${level}: ${text}`),
  })
  messages.warn('a')
  messages.hold()
  messages.tell(1, 'b')
  messages.warn('c')
  // Another claim of the same call.
  messages.hold()
  messages.tell(0, 'd')
  expect(said).toEqual(['warning: a'])
  messages.release()
  messages.tell(2, 'e')
  messages.release()
  expect(said).toEqual(['warning: a', '1: b', 'warning: c', '0: d', '2: e'])
})
