import fc from 'fast-check'
import { expect, test } from 'vitest'
import { adviceOn, UsageError } from '../../src/advice/advice.ts'
import { setting } from '../../src/advice/shell.ts'
import { Report } from '../../src/cli/report.ts'
import type { Level } from '../../src/words.ts'

/** As `crash` does it. */
const fail = (report: Report, error: unknown) => report.failure(adviceOn(error), error)

/** What a report writes. */
function written(tell: (report: Report) => void, level: Level = 0): string {
  let text = ''
  const report = new Report((each) => {
    text += each
  })
  report.level = level
  tell(report)
  return text
}

test('a hint for two shells is a line for each, so that either can be copied', () => {
  const hint = `set it: ${setting('A_KEY', 'win32')}`
  expect(written((report) => fail(report, new UsageError('no key', hint)))).toBe(
    'softsim: error: no key\nsoftsim: hint: set it: in cmd: set A_KEY=...\nsoftsim: hint: in PowerShell: $env:A_KEY = "..."\n',
  )
})

test('-vvv shows where the error happened', () => {
  const error = new UsageError('full', 'make room')
  expect(written((report) => fail(report, error), 2)).not.toContain('report.test.ts')
  const text = written((report) => fail(report, error), 3)
  expect(text).toContain('report.test.ts')
  expect(text).toMatch(/^(softsim: .*\n)+$/)
})

test('secrets are hidden everywhere, also in stack traces', () => {
  const text = written((report) => {
    report.hide('hunter22')
    report.hide('other-secret')
    report.warn('hunter22, hunter22 and other-secret')
    report.tell(1, 'xhunter22x')
    fail(report, new UsageError('hunter22\nhunter22', 'hunter22'))
  }, 3)
  expect(text).not.toMatch(/hunter22|other-secret/)
  expect(text).toContain('softsim: warning: ***, *** and ***\n')
})

test('a secret that begins with another secret is hidden completely, in either order', () => {
  for (const secrets of [
    ['abcd', 'abcd1234'],
    ['abcd1234', 'abcd'],
  ]) {
    const text = written((report) => {
      for (const secret of secrets) report.hide(secret)
      report.warn('abcd1234')
    })
    expect(text).not.toContain('1234')
  }
})

test('every message is one line', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const line = written((report) => report.warn(text))
      expect(line).toMatch(/^softsim: warning: [^\p{Cc}\p{Zl}\p{Zp}]*\n$/u)
    }),
  )
})
