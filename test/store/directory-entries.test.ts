import { chmodSync } from 'node:fs'
import { expect, test } from 'vitest'
import { fileRights, rightsOf } from '../../src/store/directory-entries.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { isWindows } from '../support/system.ts'

const octal = (text: string) => Number.parseInt(text, 8)

test.skipIf(isWindows).each([
  ['700', '700', '600'],
  ['770', '770', '660'],
  ['755', '750', '640'],
  ['777', '770', '660'],
])('in a directory of mode %s, new directories get %s and new files %s', (mode, ofDirectory, ofFile) => {
  const directory = temporaryDirectory()
  chmodSync(directory, octal(mode))
  expect([rightsOf(directory), fileRights(octal(mode))]).toEqual([ofDirectory, ofFile].map(octal))
})
