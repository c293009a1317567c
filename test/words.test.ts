import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { durationOf, printable, several } from '../src/words.ts'

test('plural', () => expect([several(1, 'file'), several(2, 'file')]).toEqual(['1 file', '2 files']))

test.each([
  [0, '0 s'],
  [1, '1 s'],
  [99_000, '99 s'],
  [99_001, '2 min'],
  [120_001, '3 min'],
  [99 * 60_000, '99 min'],
  [99 * 60_000 + 1, '2 h'],
])('a duration of %i ms, rounded up: %s', (ms, words) => expect(durationOf(ms)).toBe(words))

test('what a terminal would obey is escaped, and nothing else', () => {
  // The last ones of each range, and what comes after them. They turn the direction of a text, or end a line.
  for (const code of [0, 0x1b, 0x1f, 0x7f, 0x80, 0x9b, 0x9f, 0x2028, 0x202e, 0x2066, 0x2069])
    expect(printable(String.fromCharCode(code))).toBe(`\\u{${code.toString(16)}}`)
  const harmless = String.fromCharCode(0x20, 0x7e, 0xa0, 0xe4, 0x2027, 0x202f, 0x2065, 0x206a)
  expect(printable(harmless)).toBe(harmless)
})

test('messages are ASCII: a log or a console can have any code page', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((each) =>
    each.endsWith('.ts'),
  )
  expect(files.length).toBeGreaterThan(50)
  for (const file of files) {
    const code = readFileSync(join('src', file), 'utf8').replace(/^ *(\*|\/[/*]).*$/gm, '')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is ASCII too
    expect(code, file).not.toMatch(/[^\x00-\x7f]/)
  }
})
