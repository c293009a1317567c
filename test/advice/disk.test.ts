import { expect, test } from 'vitest'
import { remedyFor } from '../../src/advice/disk.ts'

test('a hint speaks of permissions only where they are missing', () => {
  const remedyOf = (errno: string) => remedyFor(errno)
  for (const code of ['EACCES', 'EPERM']) expect(remedyOf(code)).toMatch('permission')
  for (const code of ['ENOSPC', 'EDQUOT']) expect(remedyOf(code)).toBe('free disk space')
  expect(remedyOf('EFBIG')).toBe('raise the file size limit (ulimit -f)')
  expect(remedyOf('EMFILE')).toBe('raise the limit of open files (ulimit -n)')
  expect(remedyOf('EROFS')).toBe('make the file system writable')
  for (const code of ['EIO', 'EHOSTDOWN', 'ESTALE']) expect(remedyOf(code)).toBe('check the disk')
})
