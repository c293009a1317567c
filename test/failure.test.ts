import { expect, test } from 'vitest'
import { errnoOf, reasonOf, remedyFor } from '../src/failure.ts'

test('a hint speaks of permissions only where they are missing', () => {
  const remedyOf = (code: string) => remedyFor(Object.assign(new Error(code), { code }))
  for (const code of ['EACCES', 'EPERM']) expect(remedyOf(code)).toMatch('permission')
  for (const code of ['ENOSPC', 'EDQUOT']) expect(remedyOf(code)).toBe('free disk space')
  expect(remedyOf('EFBIG')).toBe('raise the file size limit (ulimit -f)')
  expect(remedyOf('EMFILE')).toBe('raise the limit of open files (ulimit -n)')
  expect(remedyOf('EROFS')).toBe('make the file system writable')
  for (const code of ['EIO', 'EHOSTDOWN', 'ESTALE']) expect(remedyOf(code)).toBe('check the disk')
})

test('why something failed', () => {
  const error = (code: string, errno = 0) => Object.assign(new Error('x'), { code, errno })
  expect(reasonOf(error('ENOSPC'))).toBe('no space left on the disk (ENOSPC)')
  expect(reasonOf(error('ESTALE'))).toBe('ESTALE')
  // libuv has no name for a full quota.
  expect([errnoOf(error('UNKNOWN', -122)), errnoOf(error('UNKNOWN', -121))]).toEqual(['EDQUOT', 'UNKNOWN'])
  expect(errnoOf('ENOSPC')).toBeUndefined()
  expect([new Error('said'), 'said'].map(reasonOf)).toEqual(['said', 'said'])
  expect([new Error(''), ''].map(reasonOf)).toEqual(['for an unknown reason', 'for an unknown reason'])
})
