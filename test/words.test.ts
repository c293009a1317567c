import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { several, sizeOf } from '../src/words.ts'

test('singular and plural', () =>
  expect([several(1, 'file'), several(2, 'file')]).toEqual(['1 file', '2 files']))

test('sizes', () =>
  expect([1, 999_001, 1e6, 1_638_400_000, 1.024e12].map(sizeOf)).toEqual([
    '1 kB',
    '1000 kB',
    '1.0 MB',
    '1.6 GB',
    '1024.0 GB',
  ]))

test('messages are ASCII: a log or a console can have any code page', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((each) =>
    each.endsWith('.ts'),
  )
  expect(files.length).toBeGreaterThan(50)
  // Texts of other services may contain these characters.
  for (const file of files.filter((each) => !each.endsWith('error-page.ts'))) {
    const code = readFileSync(join('src', file), 'utf8').replace(/^ *(\*|\/[/*]).*$/gm, '')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is ASCII too
    expect(code, file).not.toMatch(/[^\x00-\x7f]/)
  }
})
