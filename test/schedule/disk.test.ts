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
function begun(isFat = false): Disk {
  const disk = new Disk(isFat ? { fatAt: '/' } : {})
  put(disk, '/a', 'text', true)
  flush(disk, '/')
  return disk
}

const textOf = (disk: Disk, path: string) => disk.at(path)?.content.toString()

test.each<[string, isFat: boolean, (disk: Disk) => void, names: string[], text: string]>([
  ['undoes a rename that was not flushed', false, (disk) => disk.rename('/a', '/b'), ['a'], 'text'],
  ['leaves a flushed rename', false, renamed, ['b'], 'text'],
  ['on FAT, leaves nothing in a new name of a file that was not flushed', true, renamed, ['b'], ''],
])('a power cut %s', (_, isFat, act, names, text) => {
  const disk = begun(isFat)
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

test('with a journal, a rename to another directory is not cut in two', () => {
  for (const hasJournal of [true, false]) {
    const disk = new Disk({ hasJournal })
    for (const path of ['/d', '/d/e', '/d/f']) disk.makeDirectory(path, 0o700)
    put(disk, '/d/e/a', 'text', true)
    flush(disk, '/d')
    disk.flushAll()
    disk.rename('/d/e/a', '/d/f/a')
    flush(disk, '/d/f')
    disk.cutPower(none)
    expect([disk.namesOf('/d/e'), disk.namesOf('/d/f')]).toEqual([hasJournal ? [] : ['a'], ['a']])
  }
})

test('a disk that was pulled out comes back as it was flushed', () => {
  const disk = new Disk()
  disk.makeDirectory('/stick', 0o700)
  put(disk, '/stick/a', 'text', true)
  disk.flushAll()
  put(disk, '/stick/b', 'text', true)
  const open = disk.open('/stick/a', 'r')
  disk.pull('/stick', false)
  expect(disk.at('/stick')).toBeUndefined()
  expect(() => disk.read(open, 1, null)).toThrow(expect.objectContaining({ code: 'EIO' }))
  disk.plug('/stick')
  expect(disk.namesOf('/stick')).toEqual(['a'])
})

test('a backup has other files with the same texts', () => {
  const disk = new Disk()
  disk.makeDirectory('/d', 0o700)
  put(disk, '/d/a', 'text', true)
  const { id } = disk.find('/d/a', 'test')
  const backup = disk.backup('/d')
  disk.unlink('/d/a')
  disk.restore('/d', backup)
  expect(textOf(disk, '/d/a')).toBe('text')
  expect(disk.at('/d/a')?.id).not.toBe(id)
})

test('a copy changes alone', () => {
  const disk = begun()
  const copy = disk.copy()
  copy.write(copy.open('/a', 'w'), Buffer.from('other'), null)
  expect(textOf(copy, '/a')).toBe('other')
  expect(textOf(disk, '/a')).toBe('text')
  copy.cutPower(all)
  expect(copy.namesOf('/')).toEqual(['a'])
})

test('system errors have the codes of Node', () => {
  const disk = begun()
  expect(() => disk.open('/none', 'r')).toThrow(expect.objectContaining({ code: 'ENOENT', errno: -2 }))
  expect(() => disk.open('/a', 'wx')).toThrow(expect.objectContaining({ code: 'EEXIST' }))
  disk.makeDirectory('/d', 0o700)
  put(disk, '/d/e', '', false)
  expect(() => disk.removeDirectory('/d')).toThrow(expect.objectContaining({ code: 'ENOTEMPTY' }))
})
