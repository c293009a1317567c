import { expect, test } from 'vitest'
import { Disk } from '../../scripts/torture/schedule/disk.ts'

const all = (length: number) => length
const none = () => 0

function put(disk: Disk, path: string, text: string, isFlushed: boolean): void {
  const file = disk.open(path, 'wx')
  disk.write(file, Buffer.from(text), null)
  if (isFlushed) disk.flush(file)
  disk.close(file)
}

function flush(disk: Disk, path: string): void {
  const file = disk.open(path, 'r')
  disk.flush(file)
  disk.close(file)
}

function renamed(disk: Disk): void {
  disk.rename('/a', '/b')
  flush(disk, '/')
}

/** A disk with one durable file. */
function begun(hasFatRules = false): Disk {
  const disk = new Disk({ hasFatRules })
  put(disk, '/a', 'text', true)
  flush(disk, '/')
  return disk
}

const textOf = (disk: Disk, path: string) => disk.at(path)?.content.toString()

test.each<[string, hasFatRules: boolean, (disk: Disk) => void, names: string[], text: string]>([
  ['undoes a rename that was not flushed', false, (disk) => disk.rename('/a', '/b'), ['a'], 'text'],
  ['leaves a flushed rename', false, renamed, ['b'], 'text'],
  ['on FAT, leaves nothing in a new name of a file that was not flushed', true, renamed, ['b'], ''],
])('a power cut %s', (_, hasFatRules, act, names, text) => {
  const disk = begun(hasFatRules)
  act(disk)
  disk.cutPower(none)
  expect([disk.namesOf('/'), textOf(disk, `/${names[0]}`)]).toEqual([names, text])
})

test('a power cut leaves the first part of an unflushed file', () => {
  const disk = begun()
  put(disk, '/b', 'text', false)
  flush(disk, '/')
  disk.cutPower((length) => Math.round(length / 2))
  expect(textOf(disk, '/b')).toBe('te')
})

test('on FAT, two names of the same clusters share their end', () => {
  const disk = begun(true)
  disk.rename('/a', '/b')
  flush(disk, '/b')
  disk.cutPower(none)
  expect(disk.namesOf('/').sort()).toEqual(['a', 'b'])
  disk.unlink('/a')
  expect(textOf(disk, '/b')).toBe('\0\0\0\0')
})

test('a copy keeps links, and changes alone', () => {
  const disk = begun()
  disk.link('/a', '/b')
  const copy = disk.copy()
  const file = copy.open('/a', 'w')
  copy.write(file, Buffer.from('other'), null)
  expect(textOf(copy, '/b')).toBe('other')
  expect(textOf(disk, '/b')).toBe('text')
  copy.cutPower(all)
  expect(copy.namesOf('/')).toEqual(['a', 'b'])
})

test('system errors have the codes of Node', () => {
  const disk = begun()
  expect(() => disk.open('/none', 'r')).toThrow(expect.objectContaining({ code: 'ENOENT', errno: -2 }))
  expect(() => disk.open('/a', 'wx')).toThrow(expect.objectContaining({ code: 'EEXIST' }))
  expect(() => disk.link('/a', '/a')).toThrow(expect.objectContaining({ code: 'EEXIST' }))
  disk.makeDirectory('/d', 0o700)
  put(disk, '/d/e', '', false)
  expect(() => disk.removeDirectory('/d')).toThrow(expect.objectContaining({ code: 'ENOTEMPTY' }))
})
