import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { textFor } from '../../../src/store/devices/draft.ts'
import { pathOf } from '../../../src/store/devices/file-names.ts'
import { historyOf, readRecord } from '../../../src/store/devices/history.ts'
import { temporaryDirectory } from '../../support/directory.ts'

/** What happens in each pause. */
const station = vi.hoisted(() => ({ meanwhile: (_ms: number) => {} }))

vi.mock('../../../src/pause.ts', () => ({ pause: (ms: number) => station.meanwhile(ms) }))

afterEach(() => {
  station.meanwhile = () => {}
})

const iccid = (n: number) => `8988000000000000000${n}`
const name = (n: number) => `${iccid(n)}.json`
const stored = (n: number) => JSON.stringify({ iccid: iccid(n), profile: 'AAAA' })
const textOf = (n: number, device = 'D') => textFor(device, { name: name(n), stored: stored(n) })

/** A directory with these texts in the records of device D, and in used and unused files. */
function directoryWith(records: string[], files: Record<string, string> = {}) {
  const directory = temporaryDirectory()
  mkdirSync(join(directory, '.devices'))
  for (const [at, text] of records.entries()) writeFileSync(pathOf(directory, 'D', at + 1), text)
  for (const [file, text] of Object.entries(files)) writeFileSync(join(directory, file), text)
  const assigned = () => {
    const { assignment, records } = historyOf(directory, 'D')
    return [assignment?.name, records]
  }
  return { directory, path: pathOf(directory, 'D', 1), assigned }
}

describe('the profile of a device', () => {
  test('is the recorded one, while nobody else uses it for ever', () => {
    expect(directoryWith([]).assigned()).toEqual([undefined, 0])
    expect(directoryWith([textOf(1)]).assigned()).toEqual([name(1), 1])
    const begun = { [name(1)]: stored(1), [`__${name(1)}`]: stored(1) }
    expect(directoryWith([textOf(1)], begun).assigned()).toEqual([name(1), 1])
    expect(directoryWith([textOf(1)], { [`__${name(1)}`]: stored(1) }).assigned()).toEqual([undefined, 1])
  })

  test('is the last recorded one whose used file names the device', () => {
    const used = (...numbers: number[]) =>
      Object.fromEntries(numbers.map((n) => [`__${name(n)}`, textOf(n)] as const))
    const records = [textOf(1), textOf(2), textOf(3)]
    expect(directoryWith(records, used(1)).assigned()).toEqual([name(1), 3])
    expect(directoryWith(records, used(1, 2)).assigned()).toEqual([name(2), 3])
    expect(directoryWith(records).assigned()).toEqual([name(3), 3])
  })
})

describe('a record that is torn', () => {
  test('is waited for: another call may be writing it', () => {
    const { path, assigned } = directoryWith([''])
    let pauses = 0
    station.meanwhile = () => {
      if (++pauses === 20) writeFileSync(path, textOf(1))
    }
    expect(assigned()).toEqual([name(1), 1])
  })

  test.each([
    '',
    textOf(1).slice(0, 40),
    `${'x'.repeat(2000)}`,
    textOf(1, 'another device'),
    textOf(1).replace(iccid(1), iccid(2)),
  ])('is restored after a second from the used file that names the device: %.50s', (text) => {
    const { path, assigned } = directoryWith([text], {
      [`__${name(1)}`]: textOf(1),
      [`__${name(2)}`]: textOf(2, 'E'),
    })
    let pausedMs = 0
    station.meanwhile = (ms) => {
      pausedMs += ms
    }
    expect(assigned()).toEqual([name(1), 1])
    expect([pausedMs, JSON.parse(readFileSync(path, 'utf8'))]).toMatchObject([
      1000,
      { device: 'D', file: name(1) },
    ])
  })

  test.each([
    ['none', {}],
    ['two', { [`__${name(1)}`]: textOf(1), [`__${name(2)}`]: textOf(2) }],
  ])('%s of the used files name the device: a person must decide', (_, files) => {
    const { directory, path, assigned } = directoryWith([''], files)
    expect(assigned).toThrow(
      expect.objectContaining({
        facts: { kind: 'torn-record', path },
        message: `the record ${path} of device D is not complete`,
      }),
    )
    expect(() => readRecord(directory, 'D', path, name(3))).toThrow(
      `is not complete; ${name(3)} may now count as used`,
    )
    expect(readFileSync(path, 'utf8')).toBe('')
  })
})
