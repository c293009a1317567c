import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { guarded } from '../../src/store/claims.ts'
import {
  decide,
  exists,
  flushFile,
  flushFiles,
  make,
  namesIn,
  patiently,
  prepare,
  readText,
  remove,
  removeAll,
  rename,
  withScratch,
  write,
} from '../../src/store/files.ts'
import { hasSmallDisks, smallDisk } from '../support/disk.ts'
import { lot, X } from '../support/lot.ts'
import { iccid } from '../support/profiles.ts'
import { hasPosix } from '../support/system.ts'

const systemError = (code: string) => Object.assign(new Error(code), { code })

test('a directory with a file in it is decided once', () => {
  const directory = lot(0)
  for (const each of ['a', 'b']) prepare(join(directory, each), each, each)
  expect(decide(join(directory, 'a'), join(directory, 'to'), 'a')).toBe('a')
  expect(decide(join(directory, 'b'), join(directory, 'to'), 'b')).toBe('a')
  expect(readFileSync(join(directory, 'to', 'a'), 'utf8')).toBe('a')
  expect(exists(join(directory, 'b'))).toBe(true)
})

test('a decision takes the place of an empty directory that a killed call has left', () => {
  const directory = lot(0)
  mkdirSync(join(directory, 'to'))
  prepare(join(directory, 'a'), 'a', '')
  expect(decide(join(directory, 'a'), join(directory, 'to'), 'a')).toBe('a')
})

test('what passes is waited for, and anything else is thrown at once', () => {
  let tries = 0
  expect(
    patiently(() => {
      if (++tries < 3) throw systemError('ESTALE')
      return tries
    }),
  ).toBe(3)
  const failing = () => {
    tries++
    throw new TypeError('a bug')
  }
  expect(() => patiently(failing)).toThrow('a bug')
  expect(tries).toBe(4)
})

test('what is gone is no error, and what is a bug is one', () => {
  const directory = lot(1)
  expect(remove(join(directory, 'nothing'))).toBe(false)
  expect(rename(join(directory, 'nothing'), join(directory, 'to'))).toBe(false)
  // A server may have done what it has reported as an error.
  expect(rename(join(directory, 'nothing'), join(directory, X(1)))).toBe('there')
  // A look at what is to be renamed may be old: the rename itself says that something is missing.
  expect(rename(join(directory, X(1)), join(directory, 'gone', 'to'))).toBe(false)
  // Somebody else has done it, and has made a directory for a moment.
  mkdirSync(join(directory, 'decision'))
  expect(rename(join(directory, 'decision'), join(directory, X(1)))).toBe('there')
  expect(() => rename(join(directory, X(1)), join(directory, X(1), 'to'))).toThrow('ENOTDIR')
  expect(readText(join(directory, 'nothing'))).toBeUndefined()
  // Somebody has put a file in the place of a directory.
  expect([readText(join(directory, X(1), 'x')), namesIn(join(directory, X(1)))]).toEqual([undefined, []])
  expect([namesIn(join(directory, 'nothing')), remove(join(directory, 'nothing', 'x'))]).toEqual([[], false])
  expect(remove(join(directory, X(1)))).toBe(true)
  expect(() => remove(directory)).toThrow(/EISDIR|EPERM/)
})

test('what is gone is no error either where threads remove several, and what can not be removed is one', async () => {
  const directory = lot(3)
  await removeAll([X(1), X(9), X(2)].map((name) => join(directory, name)))
  expect(readdirSync(directory)).toEqual([X(3)])
  await expect(removeAll([join(directory, X(3)), directory])).rejects.toThrow(/EISDIR|EPERM/)
})

test('a file for a moment that can not be removed fails nothing', () => {
  const directory = lot(0)
  const replace = (path: string) => {
    rmSync(path)
    mkdirSync(path)
    return 'done'
  }
  expect(withScratch(directory, replace)).toBe('done')
  const other = lot(0)
  const failing = () => {
    throw new TypeError('a bug')
  }
  expect(() => withScratch(other, failing)).toThrow('a bug')
  expect(readdirSync(other)).toEqual([])
})

test('new files have the rights of their directory, but for other users', async () => {
  const directory = lot(0, 'disk')
  chmodSync(directory, 0o775)
  const umask = process.umask(0)
  try {
    write(join(directory, 'file'), 'text')
    make(join(directory, 'place'))
  } finally {
    process.umask(umask)
  }
  expect(statSync(join(directory, 'file')).mode & 0o777).toBe(0o660)
  expect(statSync(join(directory, 'place')).mode & 0o777).toBe(0o770)
  expect(() => write(join(directory, 'file'), '')).toThrow('EEXIST')
  await flushFiles([join(directory, 'file'), join(directory, 'gone'), directory], true)
  await expect(flushFiles([join(directory, 'gone')])).rejects.toThrow('ENOENT')
})

test.runIf(hasPosix)('what can not be flushed, because there is nothing to flush, is no failure', () => {
  expect(() => flushFile('/dev/null')).not.toThrow()
})

test.runIf(hasSmallDisks)('a file for which there is no room is not there', async () => {
  const { path, fill, close } = await smallDisk(1)
  try {
    fill(1)
    expect(() => write(join(path, 'file'), 'x'.repeat(9000))).toThrow('ENOSPC')
    expect(exists(join(path, 'file'))).toBe(false)
    // Nothing there can be flushed, and what is on another disk is.
    await flushFiles([join(path, 'gone')])
    await expect(flushFiles([join(path, 'gone'), join(lot(0, 'disk'), 'gone')])).rejects.toThrow('ENOENT')
  } finally {
    await close()
  }
})

test('a directory in the place of a file is damage, and no disk that can not be read', () => {
  expect(() => readText(lot(0))).toThrow(expect.objectContaining({ fault: 'damaged' }))
})

test('a file that begins with a byte order mark is read without it', () => {
  const directory = lot(0)
  writeFileSync(join(directory, 'bom'), '\ufeff{}')
  expect(readText(join(directory, 'bom'))).toBe('{}')
})

test('a guard keeps two calls apart where two renames can succeed, and leaves nothing', () => {
  const directory = lot(0)
  const { platform } = process
  Object.defineProperty(process, 'platform', { value: 'darwin' })
  try {
    const within = (n: number, action: () => unknown) => guarded(directory, X(n), action)
    const withFiller = () => guarded(directory, `${iccid(1)}F.json`, () => 'the same profile')
    const got = within(1, () => [within(1, () => 'both'), withFiller(), within(2, () => 'another')])
    expect(got).toEqual([undefined, undefined, 'another'])
    expect(within(1, () => 'later')).toBe('later')
  } finally {
    Object.defineProperty(process, 'platform', { value: platform })
  }
  expect(readdirSync(join(directory, '.claims'))).toEqual([])
})
