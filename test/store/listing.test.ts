import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { oddNames } from '../../src/status/count.ts'
import { knownIn, leaveList, look, Unused } from '../../src/store/listing.ts'
import { readUsed, stateOf } from '../../src/store/state.ts'
import { lot, profile, put, X } from '../support/lot.ts'
import { iccid } from '../support/profiles.ts'

const TAG = '0123456789abcdef0123'
const MOVE = `${TAG}.${TAG}`

describe('a listing', () => {
  test('has each profile in one place, and foreign names in none', () => {
    const directory = lot(3)
    put(directory, 1, `__${X(1)}`)
    put(directory, 4, `.${X(4)}~${TAG}`)
    put(directory, 5, `.${X(5)}~${MOVE}+${TAG}`)
    put(directory, 6, `${X(6)}.aside`)
    put(directory, 6)
    put(directory, 2, `${iccid(2)}F.json`)
    put(directory, 9, `.${iccid(9)}F.json~${TAG}`)
    put(directory, 10, `.${iccid(10)}f.json~${TAG}`)
    // In the other order than they are listed.
    for (const n of [12, 11, 13]) put(directory, n, `__${X(n)}`)
    for (const name of [
      '.DS_Store',
      `._${X(2)}`,
      `${iccid(3)} (1).json`,
      `${iccid(7)}_json`,
      'profiles.json',
      'A.JSON',
      '.~d',
      `.${X(7)}~editor`,
      `__${X(8)}.aside`,
    ])
      writeFileSync(join(directory, name), '')
    const { unused, used, held, aside, others } = look(directory)
    expect(unused).toEqual([X(2), X(3)])
    expect(used).toEqual([1, 11, 12, 13].map(X))
    expect(held.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
      { name: X(4), tag: TAG, move: undefined },
      { name: X(5), tag: `${MOVE}+${TAG}`, move: MOVE },
      { name: `${iccid(9)}F.json`, tag: TAG, move: undefined },
      { name: `${iccid(10)}f.json`, tag: TAG, move: undefined },
    ])
    expect(aside).toEqual([X(6)])
    expect(oddNames({ others })).toEqual([`${iccid(3)} (1).json`, 'A.JSON'])
    expect([...knownIn(directory)].sort()).toEqual([1, 2, 3, 4, 5, 6, 9, 10, 11, 12, 13].map((n) => iccid(n)))
  })

  test('has a profile once, with a filler or without', () => {
    const directory = lot(0)
    const [short, four, five] = [iccid(1).slice(0, 19), iccid(4), iccid(5)]
    const names = ['', 'F', 'f', '0'].map((end) => `${short}${end}.json`)
    for (const name of [...names, `__${four}f.json`, `${four}.json`, `${five}F.json`, `${five}f.json`])
      writeFileSync(join(directory, name), '')
    expect(look(directory).unused).toEqual([`${short}.json`, `${short}0.json`, `${five}F.json`])
    for (const filler of ['F', 'f']) {
      const other = lot(1)
      put(other, 1, `${iccid(1)}${filler}.json`)
      expect(look(other).unused).toEqual([X(1)])
    }
  })

  test('of what is on its way to its name does not know the profile', () => {
    const directory = lot(0)
    put(directory, 1, `.abc@def~${X(1)}`)
    expect(knownIn(directory).size).toBe(0)
    expect(stateOf(directory, iccid(1))).toEqual({ state: 'gone' })
  })

  test.each([
    ['/nowhere', 'does not exist'],
    ['/etc/hostname', 'it is not a directory'],
  ])('of %s fails with words', (path, words) => {
    expect(() => look(path)).toThrow(words)
  })
})

test('one function says where a profile is', () => {
  const directory = lot(1)
  expect(stateOf(directory, iccid(1))).toEqual({ state: 'unused', name: X(1) })
  renameSync(join(directory, X(1)), join(directory, `.${X(1)}~${TAG}`))
  expect(stateOf(directory, iccid(1))).toMatchObject({ state: 'held', held: { tag: TAG } })
  put(directory, 1, `__${X(1)}`, { device: 'D' })
  expect(stateOf(directory, iccid(1))).toMatchObject({ state: 'used', used: { device: 'D' } })
  put(directory, 1)
  expect(stateOf(directory, iccid(1)).state).toBe('used')
  put(directory, 2, `${X(2)}.aside`)
  expect(stateOf(directory, iccid(2))).toEqual({ state: 'aside', name: X(2) })
  put(directory, 3, `__${iccid(3)}F.json`)
  expect(stateOf(directory, iccid(3))).toMatchObject({ state: 'used', name: `${iccid(3)}F.json` })
  put(directory, 3)
  expect(stateOf(directory, iccid(3)).state).toBe('used')
  // A call is about to bring home what was put aside.
  put(directory, 2, `.${X(2)}~${TAG}`)
  expect(stateOf(directory, iccid(2)).state).toBe('held')
  put(directory, 5, `${iccid(5)}f.json`)
  expect(stateOf(directory, iccid(5))).toEqual({ state: 'unused', name: `${iccid(5)}f.json` })
  writeFileSync(join(directory, `__${X(4)}`), '{')
  put(directory, 4)
  expect(() => stateOf(directory, iccid(4))).toThrow('no profile')
  for (const text of [
    'null',
    '1',
    JSON.stringify({ iccid: iccid(4) }),
    JSON.stringify({ profile: 'QUJD' }),
  ]) {
    writeFileSync(join(directory, `__${X(4)}`), text)
    expect(readUsed(directory, `__${X(4)}`)).toBe('it is no profile')
  }
  // What another tool has written there.
  const fields = { station: 1, claimed: null, device: ['D'], claim: {}, isNew: 'yes' }
  put(directory, 4, `__${X(4)}`, fields)
  const none = { station: undefined, claimed: undefined, device: undefined, claim: undefined, isNew: false }
  expect(readUsed(directory, `__${X(4)}`)).toEqual({ ...profile(4), ...none })
})

describe('the unused profiles', () => {
  const all = (unused: Unused) => {
    const found: string[] = []
    for (let name = unused.next(); name !== undefined; name = unused.next()) found.push(name)
    return found
  }

  test('come lowest first, each once', () => {
    const directory = lot(3)
    expect(all(new Unused(directory))).toEqual([X(1), X(2), X(3)])
  })

  test('can be tried again: others may have given them back', () => {
    const unused = new Unused(lot(2))
    all(unused)
    unused.again()
    expect(all(unused)).toEqual([X(1), X(2)])
  })

  test('come from a list as long as that lasts, and from the directory then', () => {
    const directory = lot(1000)
    // The used ones count, too.
    renameSync(join(directory, X(1)), join(directory, `__${X(1)}`))
    rmSync(join(directory, X(2)))
    expect(leaveList(directory)).toBe(998)
    expect(existsSync(join(directory, '.unused'))).toBe(false)
    put(directory, 2)
    expect(leaveList(directory)).toBe(999)
    expect(existsSync(join(directory, '.unused'))).toBe(true)
    for (let n = 1001; n <= 1200; n++) put(directory, n)
    leaveList(directory)
    for (let n = 2; n <= 900; n++) rmSync(join(directory, X(n)))
    put(directory, 1201)
    put(directory, 7)
    const unused = new Unused(directory)
    const found = all(unused)
    expect(found.slice(0, 3)).toEqual([901, 902, 903].map(X))
    expect([...new Set(found)].sort()).toEqual([7, ...Array.from({ length: 301 }, (_, n) => n + 901)].map(X))
    put(directory, 6)
    unused.again()
    expect(unused.next()).toBe(X(6))
  })

  test('are found whatever is in the list', () => {
    const directory = lot(3)
    writeFileSync(join(directory, '.unused'), 'nonsense')
    expect(all(new Unused(directory))).toEqual([X(1), X(2), X(3)])
  })

  test('are listed only where a list saves time', () => {
    const directory = lot(3)
    leaveList(directory)
    expect(() => readFileSync(join(directory, '.unused'))).toThrow('ENOENT')
  })
})
