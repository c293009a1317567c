import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { OUTCOMES } from '../../src/advice/exit-codes.ts'
import { pageAt, rowsOf } from './pages.ts'

/** A failure or a warning: perhaps its kind or its facts, then its text where it stands in the source. */
const MESSAGE =
  /(?:new (?:Failure|CallFailure|Shortage|UsageError)|failure|warn)\(\s*(?:(?:'[a-z-]+'|\{[^}]*\}|\w+),\s*)?(?:'((?:[^'\\]|\\.)*)'|"([^"]*)"|`([^`]*)`)/g

const messages = [
  ...Object.values(OUTCOMES).flatMap(([, , hints]) =>
    Object.values<object | string>(hints).flatMap((hint) =>
      typeof hint === 'object' && 'message' in hint ? String(hint.message) : [],
    ),
  ),
  ...globSync('src/**/*.ts').flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(MESSAGE)]
      .map(([, single, double, template]) => single ?? double ?? template ?? '')
      .map((text) => text.replaceAll(/\$\{[^}]*\}/g, '…').replaceAll("\\'", "'"))
      .filter((text) => / [a-z]{2}/.test(text)),
  ),
]

/** The first column: parts of messages, with `…` for anything. */
const symptoms = rowsOf(pageAt('src/cli/troubleshooting.md'))
  .flatMap(([first = '']) => first.replaceAll('`', '').split('; '))
  .map((part) => part.split('…'))

/** Whether a text has all parts, in this order. */
function has(text: string, [first, ...others]: readonly string[]): boolean {
  if (first === undefined) return true
  const at = text.indexOf(first)
  return at >= 0 && has(text.slice(at + first.length), others)
}

test('troubleshooting has every message of the source', () => {
  expect(messages.length).toBeGreaterThan(80)
  expect(messages.filter((text) => !symptoms.some((parts) => has(text, parts)))).toEqual([])
})
