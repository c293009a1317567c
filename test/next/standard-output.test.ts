import { closeSync, openSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isOutput } from '../../src/next/standard-output.ts'
import { temporaryDirectory } from '../support/directory.ts'

test('the file that standard output goes to is recognized; what can’t be described is not a file', () => {
  const path = join(temporaryDirectory(), 'receipt.jsonl')
  const other = join(temporaryDirectory(), 'receipt.jsonl')
  writeFileSync(other, '')
  const output = openSync(path, 'w')
  expect([isOutput(statSync(path), output), isOutput(statSync(other), output)]).toEqual([true, false])
  // Files of two disks can have the same number.
  const { dev, ino } = statSync(path)
  expect(isOutput(Object.assign(statSync(path), { dev: dev + 1, ino }), output)).toBe(false)
  closeSync(output)
  // As a serial port on Windows, where fstat fails.
  expect(isOutput(statSync(path), 2 ** 31 - 1)).toBe(false)
})
