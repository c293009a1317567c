import fc from 'fast-check'
import { expect, test } from 'vitest'
import { adviceOn, UsageError } from '../../src/advice/advice.ts'
import { setting } from '../../src/advice/shell.ts'
import { Report } from '../../src/cli/report.ts'
import { type Level, printable } from '../../src/words.ts'

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

test('a warning is one line that begins with the program’s name', () => {
  expect(written((report) => report.warn('odd'))).toBe('softsim: warning: odd\n')
})

test('the verbosity controls which messages are printed', () => {
  const tellAll = (report: Report) => {
    for (const level of [0, 1, 2, 3] as const) report.tell(level, `level ${level}`)
  }
  expect(written(tellAll, 0)).toBe('softsim: level 0\n')
  expect(written(tellAll, 2)).toBe('softsim: level 0\nsoftsim: level 1\nsoftsim: level 2\n')
})

test('a failure is one line, and a hint that says what to do', () => {
  const hinted = new UsageError('full', 'make room')
  expect(written((report) => fail(report, hinted))).toBe('softsim: error: full\nsoftsim: hint: make room\n')
})

test('a hint for two shells is a line for each, so that either can be copied', () => {
  const hint = `set it: ${setting('A_KEY', 'win32')}`
  expect(written((report) => fail(report, new UsageError('no key', hint)))).toBe(
    'softsim: error: no key\nsoftsim: hint: set it: in cmd: set A_KEY=...\nsoftsim: hint: in PowerShell: $env:A_KEY = "..."\n',
  )
})

test('any other error is a bug, and the message says how to report it', () => {
  const text = written((report) => fail(report, new TypeError('x is undefined')))
  expect(text).toMatch(
    /^softsim: error: internal error in softsim: x is undefined\nsoftsim: hint: .*report.*\n$/,
  )
  expect(written((report) => fail(report, 'thrown text'))).toContain('thrown text')
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

test.each([
  ['JSON', 'key"with\\slashes', String.raw`key\"with\\slashes`],
  ['JSON with escaped slashes', 'key"with/slashes', String.raw`key\"with\/slashes`],
  ['a URL', 'key/with+odd=letters', 'key%2Fwith%2Bodd%3Dletters'],
  ['a URL in lower case', 'key/with+odd=letters', 'key%2fwith%2bodd%3dletters'],
  ['JSON with numbers', 'key/with+odd=letters', String.raw`key\u002fwith\u002Bodd\u003dletters`],
  ['JSON in JSON', 'key/with+odd=letters', String.raw`key\\/with\\u002bodd\\u003dletters`],
  ['HTML', 'key/with+odd=letters', 'key&#x2F;with&#43;odd&equals;letters'],
  ['a mixture', 'key/with+odd=letters', String.raw`%6bey\/with%252bodd\u003Dletters`],
])('a secret is hidden in its encoded form: %s', (_, secret, form) => {
  const text = written((report) => {
    report.hide(secret)
    report.warn(`it said <${form}>`)
  })
  expect(text).toBe('softsim: warning: it said <***>\n')
})

test('without secrets, the text is unchanged', () => {
  const text = written((report) => {
    report.hide(undefined)
    report.hide('')
    report.warn('as it is')
  })
  expect(text).toBe('softsim: warning: as it is\n')
})

test('control characters, for example in file names, are escaped', () => {
  expect(printable('\u001b[2Ja\r\nb\u202egnp\u0000\u009b')).toBe(
    '\\u{1b}[2Ja\\u{d}\\u{a}b\\u{202e}gnp\\u{0}\\u{9b}',
  )
  expect(printable('89 – é ü 語 … 🙂')).toBe('89 – é ü 語 … 🙂')
})

test('every message is one line', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const line = written((report) => report.warn(text))
      expect(line).toMatch(/^softsim: warning: [^\p{Cc}\p{Zl}\p{Zp}]*\n$/u)
    }),
  )
})
