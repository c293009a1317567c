import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { Failure } from '../src/errors.ts'
import { readKey } from '../src/key-file.ts'
import { temporaryDirectory } from './support/directory.ts'

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

test('a line of a key in the place of its file is not repeated; a path that looks like one is', () => {
  const { privateKey } = inject('keys')
  for (const line of privateKey.split('\n').filter((each) => each.length === 64)) {
    expect(() => readKey(line, undefined)).toThrow('this looks like the key itself')
  }
  const path = join(temporaryDirectory(), 'Line2KeyOfTheProductionInHall4ForNext2026')
  expect(() => readKey(path, undefined)).toThrow(`can't read the private key ${path}`)
  writeFileSync(path, privateKey)
  expect(readKey(path, undefined).type).toBe('private')
})
