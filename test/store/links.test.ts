import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isExisting, tryLink } from '../../src/store/links.ts'
import { temporaryDirectory } from '../support/directory.ts'

const failing = (code: string) => Object.assign(new Error(code), { code })

test('a name that exists is one, also where the server gives no reason (SFTP)', () => {
  const directory = temporaryDirectory()
  const [there, missing] = [join(directory, 'there'), join(directory, 'missing')]
  writeFileSync(there, '')
  expect(isExisting(failing('EEXIST'), there)).toBe(true)
  expect(isExisting(failing('EPERM'), there)).toBe(true)
  expect(isExisting(failing('EPERM'), missing)).toBe(false)
  expect(isExisting(failing('EIO'), there)).toBe(false)
})

test('a link never takes a name that exists', () => {
  const directory = temporaryDirectory()
  const [from, to] = [join(directory, 'from'), join(directory, 'to')]
  writeFileSync(from, '')
  expect([tryLink(from, to), tryLink(from, to)]).toEqual(['linked', 'exists'])
  expect(() => tryLink(join(directory, 'missing'), join(directory, 'other'))).toThrow('ENOENT')
})
