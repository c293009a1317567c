import { expect, test } from 'vitest'
import { diskFailure, errnoOf, Failure, ifPossible, reasonOf, UsageError } from '../src/failure.ts'

const error = (code: string, errno = 0) => Object.assign(new Error('x'), { code, errno })

test('why something failed', () => {
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

const RIGHTS =
  'give this user permission to create, write, rename and remove files in the directory and its hidden ones'
const SHARE = 'check the disk or the share, and run the same command again'

test.each([
  ['EACCES', 'permission denied', RIGHTS],
  ['EBUSY', 'in use by another program', SHARE],
  ['EDQUOT', 'the disk quota is exceeded', 'make room, or raise the quota of this user'],
  ['EEXIST', 'it already exists', SHARE],
  ['EFBIG', 'the file would be too large', SHARE],
  ['EHOSTDOWN', 'the file server is down', SHARE],
  ['EINVAL', 'the file system refuses it', SHARE],
  ['EIO', 'the disk reports an input/output error', SHARE],
  ['EISDIR', 'it is a directory', SHARE],
  ['ELOOP', 'it is a symbolic link', SHARE],
  ['EMFILE', 'too many open files', 'raise the limit of open files, for example with ulimit -n 4096'],
  ['ENAMETOOLONG', 'the name is too long', SHARE],
  ['ENFILE', 'too many open files on this machine', SHARE],
  ['ENOENT', 'no such file or directory', SHARE],
  ['ENOSPC', 'no space left on the disk', 'make room on the disk'],
  ['ENOTDIR', 'it is not a directory', 'check the name: a directory is needed, and there is a file'],
  ['EPERM', 'operation not permitted', RIGHTS],
  ['EPIPE', 'the reader closed the pipe', SHARE],
  [
    'EROFS',
    'the file system is read-only',
    'mount the file system so that it can be written; after a disk error, check the disk first',
  ],
  ['ESTALE', 'the file server does not know it any more', SHARE],
  ['ETIMEDOUT', 'the file server does not answer in time', SHARE],
])('%s of a disk: %s; %s', (code, words, hint) => {
  const failure = diskFailure("can't read profiles", error(code))
  expect(failure).toMatchObject({ message: `can't read profiles: ${words} (${code})`, hint, outcome: 'disk' })
  expect(diskFailure("can't read profiles", error(code), 'look')).toMatchObject({ hint: 'look' })
})

test('what is no error of a disk stays what it is', () => {
  const [usage, bug] = [new UsageError('a', 'b'), new TypeError('a bug')]
  expect([usage, bug].map((each) => diskFailure("can't", each, 'look'))).toEqual([usage, bug])
  expect(diskFailure("can't", 'thrown')).toEqual(new Error('thrown'))
  const odd = [error('ERR_INVALID_ARG_TYPE'), error('XENOSPC'), error('UNKNOWNX')]
  for (const each of odd) expect(diskFailure("can't", each)).not.toBeInstanceOf(Failure)
  expect(diskFailure("can't", error('UNKNOWN'))).toMatchObject({ message: "can't: UNKNOWN" })
})
