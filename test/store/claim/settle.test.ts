import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Report } from '../../../src/cli/report.ts'
import { settle, settleOne } from '../../../src/store/claim/settle.ts'
import { textFor } from '../../../src/store/devices/draft.ts'
import { pathOf } from '../../../src/store/devices/file-names.ts'
import { historyOf } from '../../../src/store/devices/history.ts'
import type { Messages } from '../../../src/words.ts'
import { namesIn, temporaryDirectory } from '../../support/directory.ts'
import { hasPosix } from '../../support/system.ts'

/** What happens in each pause. */
const station = vi.hoisted(() => ({ meanwhile: (_ms: number) => {} }))

vi.mock('../../../src/pause.ts', () => ({ pause: (ms: number) => station.meanwhile(ms) }))

const NOW = new Date('2026-11-20T12:00:00Z')

beforeEach(() => {
  vi.useFakeTimers({ now: NOW, toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
  station.meanwhile = () => {}
})

const iccid = (n: number) => `8988000000000000000${n}`
const unused = (n: number) => `${iccid(n)}.json`
const stored = (n: number) => JSON.stringify({ iccid: iccid(n), profile: 'AAAA' })
const textOf = (n: number, device: string) => textFor(device, { name: unused(n), stored: stored(n) })

/** A directory with one profile, and this text in its used file. */
function claimed(text: string) {
  const directory = temporaryDirectory()
  const path = (name: string) => join(directory, name)
  const used = path(`__${unused(1)}`)
  writeFileSync(path(unused(1)), stored(1))
  writeFileSync(used, text)
  const said: string[] = []
  const report = new Report((line) => void said.push(line.replace('softsim: ', '').trimEnd()))
  const messages: Messages = {
    warn: (...warning) => report.warn(...warning),
    tell: (level, words) => void said.push(`${level}: ${words}`),
  }
  return {
    directory,
    used,
    path,
    said,
    settleOne: () => settleOne(directory, unused(1), messages),
    settle: () => settle(directory, [unused(1)], messages),
    usedText: () => readFileSync(used, 'utf8'),
    /** As a call leaves it that has taken the claim over; `whose` is what it has decided. */
    takeOver(whose?: 'device' | 'nobody') {
      mkdirSync(path(`.${iccid(1)}.settled`))
      if (whose === 'nobody') mkdirSync(path(`.${iccid(1)}.settled/whose`))
      if (whose === 'device') writeFileSync(path(`.${iccid(1)}.settled/whose`), '')
    },
  }
}

const UNPRINTED = [
  `warning: ${iccid(1)} is marked used but was not printed: a call was killed while claiming it; use --iccid ${iccid(1)} to print it`,
]
const OF_DEVICE = [`warning: ${iccid(1)} is the profile of device D: a call for it was killed; call it again`]

describe('the claims of a directory', () => {
  const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1000)

  test.each([
    [-61, UNPRINTED],
    [-60, []],
    [60, []],
    [61, UNPRINTED],
  ])(
    'are settled if they are older than a minute, or of a clock that is ahead: %i s',
    (seconds, expected) => {
      const { used, said, settle } = claimed('')
      utimesSync(used, at(seconds), at(seconds))
      settle()
      expect(said).toEqual(expected)
    },
  )

  test.each<[string, (used: string) => void]>([
    ['its time', (used) => utimesSync(used, NOW, NOW)],
    [
      'its length',
      (used) => {
        writeFileSync(used, '{')
        utimesSync(used, at(-90), at(-90))
      },
    ],
    [
      'the file itself',
      (used) => {
        const other = `${used}~`
        writeFileSync(other, '')
        utimesSync(other, at(-90), at(-90))
        renameSync(other, used)
      },
    ],
  ])('are left alone if a second look finds something else: %s', (_, change) => {
    const { used, said, settle } = claimed('')
    utimesSync(used, at(-90), at(-90))
    station.meanwhile = (ms) => {
      if (ms === 1000) change(used)
    }
    settle()
    expect(said).toEqual([])
  })
})

describe('a used file beside an unused one', () => {
  test('is left alone while its call releases it; a person is told which file to remove', () => {
    const { path, said, settleOne, usedText } = claimed('')
    writeFileSync(path(`.${iccid(1)}.settled`), '')
    settleOne()
    expect([usedText(), said]).toEqual([
      '',
      [
        `warning: ${iccid(1)} is set aside: a call did not finish releasing it; when no call is running, remove .${iccid(1)}.settled, and the next call settles it`,
      ],
    ])
  })

  test('is complete: the unused one goes, which every user is told', () => {
    const { directory, said, settleOne } = claimed(stored(1))
    settleOne()
    expect(namesIn(directory)).toEqual([`__${unused(1)}`])
    expect(said).toEqual([
      `0: ${iccid(1)} is used: ${unused(1)}, which was left beside its used file, is removed`,
    ])
  })

  test.each([
    ['names a device that has no profile', undefined],
    ['the same, and a killed call has taken it over', 'undecided'],
    ['the same, for the device', 'device'],
  ])('%s: the profile is that device’s', (_, whose) => {
    const { directory, said, takeOver, settleOne, usedText } = claimed(textOf(1, 'D'))
    if (whose !== undefined) takeOver(whose === 'device' ? 'device' : undefined)
    settleOne()
    expect(said).toEqual(OF_DEVICE)
    expect(namesIn(directory)).toEqual([`__${unused(1)}`])
    expect(JSON.parse(usedText()).device).toBe('D')
    expect(readdirSync(join(directory, '.devices'))).toEqual([basename(pathOf(directory, 'D', 1))])
    expect(historyOf(directory, 'D').assignment?.name).toBe(unused(1))
    if (whose !== undefined)
      expect(lstatSync(join(directory, `.${iccid(1)}.settled/whose`)).isFile()).toBe(true)
  })

  test('names a device, and a killed call has taken it over for nobody: it is no device’s', () => {
    const { directory, said, takeOver, settleOne, usedText } = claimed(textOf(1, 'D'))
    takeOver('nobody')
    settleOne()
    expect([said, usedText(), namesIn(directory)]).toEqual([UNPRINTED, stored(1), [`__${unused(1)}`]])
  })

  test.each([false, true])(
    'names a device that has another profile (taken over: %s): it is no device’s',
    (isTaken) => {
      const { directory, path, said, takeOver, settleOne, usedText } = claimed(textOf(1, 'D'))
      mkdirSync(path('.devices'))
      writeFileSync(pathOf(directory, 'D', 1), textOf(2, 'D'))
      writeFileSync(path(`__${unused(2)}`), textOf(2, 'D'))
      if (isTaken) takeOver()
      settleOne()
      expect([said, usedText()]).toEqual([UNPRINTED, stored(1)])
      expect(historyOf(directory, 'D').assignment?.name).toBe(unused(2))
      expect(existsSync(path(unused(1)))).toBe(false)
    },
  )

  test('can’t be settled: this is a warning, and the call goes on', () => {
    const { directory, path, said, takeOver, settleOne } = claimed('')
    takeOver()
    mkdirSync(path(`.${iccid(1)}.settled/whose`))
    rmSync(path(unused(1)))
    mkdirSync(path(unused(1)))
    settleOne()
    expect(said).toEqual([
      expect.stringContaining(`warning: ${iccid(1)} is marked used, and its claim can't be settled: `),
    ])
    expect(readdirSync(directory)).toContain(`__${unused(1)}`)
  })
})

test('a complete claim whose release another call began is nothing to report', () => {
  const { path, said, settleOne } = claimed(stored(1))
  rmSync(path(unused(1)))
  writeFileSync(path(`.${iccid(1)}.settled`), '')
  settleOne()
  expect(said).toEqual([])
})

describe.skipIf(!hasPosix)('what settling leaves is for the users of the directory:', () => {
  const modeOf = (path: string) => statSync(path).mode & 0o777

  test('a claim for nobody', () => {
    const { directory, path, used, settleOne } = claimed('')
    chmodSync(directory, 0o770)
    process.umask(0)
    settleOne()
    const settled = path(`.${iccid(1)}.settled`)
    expect([settled, join(settled, 'whose'), used].map(modeOf)).toEqual([0o770, 0o770, 0o660])
  })

  test('a claim for a device', () => {
    const { directory, path, takeOver, settleOne } = claimed(textOf(1, 'D'))
    chmodSync(directory, 0o770)
    process.umask(0)
    takeOver()
    settleOne()
    const paths = [path(`.${iccid(1)}.settled/whose`), path('.devices'), pathOf(directory, 'D', 1)]
    expect(paths.map(modeOf)).toEqual([0o660, 0o770, 0o660])
  })
})
