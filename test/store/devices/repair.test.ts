import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { textFor } from '../../../src/store/devices/draft.ts'
import { pathOf } from '../../../src/store/devices/file-names.ts'
import { type Assignment, historyOf } from '../../../src/store/devices/history.ts'
import { repair } from '../../../src/store/devices/repair.ts'
import { temporaryDirectory } from '../../support/directory.ts'

const name = '89880000000000000017.json'
const stored = JSON.stringify({ iccid: '89880000000000000017', profile: 'AAAA' })
const text = textFor('D', { name, stored })

/** A directory after a power cut: device D is recorded, and the used file of its profile has only a beginning. */
function torn(beginning: string): { directory: string; used: () => string; assignment: Assignment } {
  const directory = temporaryDirectory()
  mkdirSync(join(directory, '.devices'))
  writeFileSync(pathOf(directory, 'D', 1), text)
  writeFileSync(join(directory, name), stored)
  writeFileSync(join(directory, `__${name}`), beginning)
  const { assignment } = historyOf(directory, 'D')
  const used = () => readFileSync(join(directory, `__${name}`), 'utf8')
  return { directory, used, assignment: assignment as Assignment }
}

describe('the used file of a recorded profile', () => {
  test('is written again if it is torn and names the device', () => {
    const { directory, assignment, used } = torn(text.slice(0, -2))
    expect(repair(directory, assignment)).toBe(true)
    expect(used()).toBe(text)
    expect(repair(directory, assignment)).toBe(false)
  })

  test('is finished for nobody if another call has decided that', () => {
    const { directory, assignment, used } = torn(text.slice(0, -2))
    mkdirSync(join(directory, '.89880000000000000017.settled', 'whose'), { recursive: true })
    expect(repair(directory, assignment)).toBe(false)
    expect(used()).toBe(stored)
  })

  test.each(['', text.slice(0, 20), `${text.slice(0, -2)}x`])(
    'stays if it may be that of another call: %j',
    (beginning) => {
      const { directory, assignment, used } = torn(beginning)
      expect(repair(directory, assignment)).toBe(false)
      expect(used()).toBe(beginning)
    },
  )
})
