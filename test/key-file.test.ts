import { expect, test } from 'vitest'
import { Failure } from '../src/errors.ts'
import { readKey } from '../src/key-file.ts'

const hintOf = (platform: NodeJS.Platform) => {
  try {
    readKey('-----BEGIN RSA PRIVATE KEY-----', undefined, platform)
  } catch (error) {
    return error instanceof Failure ? `${error.outcome}: ${error.hint}` : error
  }
  return undefined
}

test('the key itself in the place of its file: the way out is one of the system', () => {
  expect(hintOf('linux')).toBe('usage: in bash: softsim next -k <(printenv KEY) …')
  expect(hintOf('win32')).toBe('usage: write it to a file: softsim next -k softsim.pem')
})
