import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { bury, Crash, cutPower, format, fs, live, ROOT } from './disk.ts'
import { diskSync } from './disk-fs.ts'

const A = `${ROOT}/a`
const B = `${ROOT}/b`
const NOTHING = () => 0
const ALL = (length: number) => length

const flush = (path: string) => {
  const file = diskSync.openSync(path, 'r')
  diskSync.fsyncSync(file)
  diskSync.closeSync(file)
}
const names = () => fs.readdirSync(ROOT)
const textOf = (path: string) => fs.readFileSync(path, 'utf8')

beforeEach(() => {
  format()
  live()
})
afterEach(bury)

describe('a power cut', () => {
  test('undoes or keeps a name whose directory was not flushed', () => {
    diskSync.writeFileSync(A, 'text')
    cutPower(ALL)
    expect(names()).toEqual(['a'])
    cutPower(NOTHING)
    expect(names()).toEqual(['a'])
    diskSync.renameSync(A, B)
    cutPower(NOTHING)
    expect(names()).toEqual(['a'])
  })

  test('leaves a flushed name, without the bytes of an unflushed file', () => {
    diskSync.writeFileSync(A, 'text')
    flush(ROOT)
    cutPower((length) => length / 2)
    expect(textOf(A)).toBe('te')
  })

  test('leaves what was flushed', () => {
    diskSync.writeFileSync(A, 'text')
    flush(A)
    flush(ROOT)
    diskSync.renameSync(A, B)
    flush(ROOT)
    cutPower(NOTHING)
    expect([names(), textOf(B)]).toEqual([['b'], 'text'])
  })

  test('undoes a rename over another file completely', () => {
    diskSync.writeFileSync(A, 'new')
    diskSync.writeFileSync(B, 'old')
    for (const path of [A, B, ROOT]) flush(path)
    diskSync.renameSync(A, B)
    expect([names(), textOf(B)]).toEqual([['b'], 'new'])
    cutPower(NOTHING)
    expect([names(), textOf(A), textOf(B)]).toEqual([['a', 'b'], 'new', 'old'])
  })

  test('is not prevented by a flush of the parent directory', () => {
    diskSync.mkdirSync(A)
    flush(`${ROOT}/..`)
    cutPower(NOTHING)
    expect(names()).toEqual([])
  })
})

test('exclusive creation of an existing file fails and leaves it unchanged', () => {
  diskSync.writeFileSync(A, 'text')
  expect(() => diskSync.openSync(A, 'wx')).toThrow(expect.objectContaining({ code: 'EEXIST' }))
  expect(textOf(A)).toBe('text')
})

test('nothing happens after the crash', () => {
  live(1)
  diskSync.mkdirSync(A)
  expect(() => diskSync.mkdirSync(B)).toThrow(Crash)
  expect(() => diskSync.renameSync(A, B)).toThrow(Crash)
  expect(names()).toEqual(['a'])
})

test('a disk without hard links refuses to link', () => {
  format({ links: false })
  diskSync.writeFileSync(A, 'text')
  expect(() => diskSync.linkSync(A, B)).toThrow(expect.objectContaining({ code: 'EPERM' }))
})

test('a call that is not modelled is refused', () => {
  diskSync.writeFileSync(A, 'text')
  expect(() => diskSync.truncateSync(A, 1)).toThrow('no truncateSync')
})
