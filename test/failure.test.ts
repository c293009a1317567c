import { expect, test } from 'vitest'
import { errnoOf, ifPossible, reasonOf } from '../src/failure.ts'

test('why something failed', () => {
  const error = (code: string, errno = 0) => Object.assign(new Error('x'), { code, errno })
  expect(reasonOf(error('ENOSPC'))).toBe('no space left on the disk (ENOSPC)')
  expect(reasonOf(error('ELIBBAD'))).toBe('ELIBBAD')
  // libuv has no names for these.
  const seen = [-122, -116, -121].map((errno) => errnoOf(error('UNKNOWN', errno)))
  expect(seen).toEqual(['EDQUOT', 'ESTALE', 'UNKNOWN'])
  expect(errnoOf('ENOSPC')).toBeUndefined()
  expect([new Error('said'), 'said'].map(reasonOf)).toEqual(['said', 'said'])
  expect([new Error(''), ''].map(reasonOf)).toEqual(['for an unknown reason', 'for an unknown reason'])
})

test('what need not succeed may fail by the system, and not by a bug', () => {
  const failing = (error: Error) => () =>
    ifPossible(() => {
      throw error
    })
  expect(failing(Object.assign(new Error('x'), { code: 'EACCES' }))).not.toThrow()
  expect(failing(new TypeError('a bug'))).toThrow('a bug')
})
