import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Report } from '../../src/cli/report.ts'
import { Failure, UsageError } from '../../src/failure.ts'
import type { Level } from '../../src/words.ts'

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

test('a hint of two lines is two hints, so that either can be copied', () => {
  const error = new UsageError('no key', 'in cmd: set A=1\nin PowerShell: $env:A = 1')
  expect(written((report) => report.failure(error))).toBe(
    'softsim: error: no key\nsoftsim: hint: in cmd: set A=1\nsoftsim: hint: in PowerShell: $env:A = 1\n',
  )
})

test('what is known to be secret only after a message is not shown in the next one', () => {
  const said = written((report) => {
    report.warn('SECRET is a word')
    report.hide('SECRET')
    report.warn('SECRET is a key')
  })
  expect(said).toBe('softsim: warning: SECRET is a word\nsoftsim: warning: *** is a key\n')
})

describe('a failure that concerns a value of a variable says which', () => {
  test.each([
    ['SOFTSIM_DIR', '/data/p', new Failure('no-profiles', 'no unused profile in /data/p', 'fetch more')],
    [
      'SOFTSIM_URL',
      'https://a.example/x',
      new Failure('service', 'the service refuses the connection', 'try later'),
    ],
    ['SOFTSIM_API_KEY', 'SECRET', new Failure('api-key', 'the API key is not accepted', 'check it')],
  ])('%s', (variable, value, failure) => {
    const said = written((report) => {
      report.hide('SECRET')
      report.cameFrom(variable, value)
      report.failure(failure)
    })
    const shown = value === 'SECRET' ? '***' : value
    expect(said).toContain(`softsim: hint: the environment variable ${variable} says ${shown}\n`)
  })

  test('a URL without its user and its query, which may be secrets', () => {
    const said = written((report) => {
      report.cameFrom('SOFTSIM_URL', 'https://me:secret@a.example/x?key=secret')
      report.failure(new Failure('service', 'the service refuses the connection', 'try later'))
    })
    expect(said).toContain('SOFTSIM_URL says https://a.example/x\n')
    expect(said).not.toContain('secret')
  })

  test.each(['1', 'e', 'line', 'r.json'])('not %s, which stands for something else', (value) => {
    const said = written((report) => {
      report.cameFrom('SOFTSIM_STATION', value)
      report.failure(new Failure('disk', 'none of 10 profiles, or 1, in line-1 or r.jsonl', 'see it'))
    })
    expect(said).not.toContain('the environment variable')
  })

  test('no other, and not twice', () => {
    const said = written((report) => {
      report.cameFrom('SOFTSIM_DIR', '/data/p')
      report.cameFrom('SOFTSIM_RECEIPT', 'r.jsonl')
      report.cameFrom('SOFTSIM_API_KEY', 'SECRET')
      report.failure(new UsageError('the value of SOFTSIM_RECEIPT is not r.jsonl', 'check it'))
    })
    expect(said).not.toContain('the environment variable')
  })
})

test('a message is shown from its number of -v on, and a warning always', () => {
  const said = ([0, 1, 2, 3] as const).map((level) =>
    written((report) => {
      report.warn('w')
      for (const each of [0, 1, 2, 3] as const) report.tell(each, String(each))
    }, level),
  )
  const lines = ['softsim: 0\n', 'softsim: 1\n', 'softsim: 2\n', 'softsim: 3\n']
  expect(said).toEqual([1, 2, 3, 4].map((n) => `softsim: warning: w\n${lines.slice(0, n).join('')}`))
})

test('an error is followed by its hint, where a value comes from, and with -vvv by its stack alone', () => {
  const failure = new Failure('disk', "can't read /data/p", 'look', new Error('inner'))
  const text = written((report) => {
    report.cameFrom('SOFTSIM_DIR', '/data/p')
    report.failure(failure)
  }, 3)
  expect(text.split('\n').slice(0, 4)).toEqual([
    "softsim: error: can't read /data/p",
    'softsim: hint: look',
    'softsim: hint: the environment variable SOFTSIM_DIR says /data/p',
    expect.stringMatching(/^softsim: +at /),
  ])
})

test('a value in the hint, or behind a dot or a dash, is another one or the same', () => {
  const isNamed = (message: string, hint: string) =>
    written((report) => {
      report.cameFrom('SOFTSIM_RECEIPT', 'r(1).jsonl')
      report.failure(new Failure('disk', message, hint))
    }).includes('SOFTSIM_RECEIPT says r(1).jsonl\n')
  expect(isNamed('full', 'look at r(1).jsonl')).toBe(true)
  expect(isNamed('r(1).jsonl, and so on', '')).toBe(true)
  expect(isNamed('r1.jsonl', '')).toBe(false)
  expect(isNamed('x.r(1).jsonl', '')).toBe(false)
  expect(isNamed('x-r(1).jsonl', '')).toBe(false)
  expect(isNamed('r(1).jsonl-old', '')).toBe(false)
})

test('a line of progress stays below each message', () => {
  const steps: string[] = []
  const report = new Report((text) => void steps.push(text))
  report.lastLine = { clear: () => void steps.push('clear'), render: () => void steps.push('render') }
  report.warn('one')
  expect(steps).toEqual(['clear', 'softsim: warning: one\n', 'render'])
})

test('-vvv shows where the error happened', () => {
  const error = new UsageError('full', 'make room')
  expect(written((report) => report.failure(error), 2)).not.toContain('report.test.ts')
  const text = written((report) => report.failure(error), 3)
  expect(text).toContain('report.test.ts')
  expect(text).toMatch(/^(softsim: .*\n)+$/)
})

test('secrets are hidden everywhere, also in stack traces', () => {
  const text = written((report) => {
    report.hide('hunter22')
    report.hide('other-secret')
    report.warn('hunter22, hunter22 and other-secret')
    report.tell(1, 'xhunter22x')
    report.failure(new UsageError('hunter22\nhunter22', 'hunter22'))
  }, 3)
  expect(text).not.toMatch(/hunter22|other-secret/)
  expect(text).toContain('softsim: warning: ***, *** and ***\n')
})

test('a secret is hidden without the blanks round it, and if it is as short as can be', () => {
  const text = written((report) => {
    report.hide(' hunter22\n')
    report.hide('abcd')
    report.hide('is')
    report.hide('its')
    report.hide()
    report.warn('it is hunter22 or abcd, its own')
  })
  expect(text).toBe('softsim: warning: it is *** or ***, its own\n')
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
  const oneLine = /^softsim: warning: [^\p{Cc}\p{Zl}\p{Zp}]*\n$/u
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const line = written((report) => report.warn(text))
      expect(line).toMatch(oneLine)
    }),
  )
})
