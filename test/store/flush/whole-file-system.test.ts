import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { FileSystemFlush } from '../../../src/store/flush/whole-file-system.ts'
import { temporaryDirectory } from '../../support/directory.ts'

const SYSTEM = vi.hoisted(() => ({ type: 0xef53, release: '6.1.0-amd64', dirty: 5, writeback: 3 }))
const system = { ...SYSTEM }

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const memory = () =>
    `Cached: 900000 kB\nDirty:   ${system.dirty} kB\nWriteback:  ${system.writeback} kB\nWritebackTmp: 9 kB\n`
  return {
    ...fs,
    statfsSync: () => ({ type: system.type }),
    readFileSync: (path: string, ...more: [BufferEncoding]) =>
      path === '/proc/meminfo' ? memory() : fs.readFileSync(path, ...more),
  }
})
vi.mock('node:os', async (original) => ({ ...(await original<object>()), release: () => system.release }))

const MANY = 1000
let place: string

/** Puts a `sync` of our own in the place of the system's. It writes down its arguments. */
function provide(does = '', says = 'sync (GNU coreutils) 9.1'): void {
  const text = `#!/bin/sh\n[ "$1" = --version ] && echo '${says}' && exit\necho "$@" >> '${place}/calls'\n${does}\n`
  writeFileSync(join(place, 'sync'), text)
  chmodSync(join(place, 'sync'), 0o755)
}

/** It is looked for in these places. */
const fileSystemFlush = (longestMs?: number) =>
  new FileSystemFlush('/profiles', longestMs, [join(place, 'missing'), join(place, 'sync')])

const calls = () => readFileSync(join(place, 'calls'), 'utf8').trimEnd().split('\n')

beforeEach(() => {
  place = temporaryDirectory()
  writeFileSync(join(place, 'calls'), '')
  Object.assign(system, SYSTEM)
  provide()
})

describe.skipIf(process.platform !== 'linux')('the flush of a whole file system', () => {
  test.each([0xef53, 0x58465342, 0x9123683e])('is made on file systems of type %i', async (type) => {
    system.type = type
    expect(await fileSystemFlush().flush()).toBe(true)
    expect(calls()).toEqual(['-f -- /profiles'])
  })

  test.each(['5.8.0', '5.10.2-amd64', '6.0', '10.1'])('is made by a kernel %s', async (release) => {
    system.release = release
    expect(await fileSystemFlush().flush()).toBe(true)
  })

  test.each([
    ['the file system was not tested', () => Object.assign(system, { type: 0x65735546 })],
    ['it is FAT', () => Object.assign(system, { type: 0x4d44 })],
    ['the kernel is a little too old', () => Object.assign(system, { release: '5.7.19' })],
    ['the kernel is old', () => Object.assign(system, { release: '5.4.0-generic' })],
    ['the kernel is unknown', () => Object.assign(system, { release: '' })],
    ['it is not GNU’s', () => provide('', 'sync 0.0.30')],
    ['it is BusyBox’s', () => provide('', 'BusyBox v1.36.1')],
    ['there is none', () => rmSync(join(place, 'sync'))],
  ])('is not made if %s', async (_, prepare) => {
    prepare()
    expect(await fileSystemFlush().flush()).toBe(false)
    expect(calls()).toEqual([''])
  })

  test('is not made for a few files', async () => {
    expect(await fileSystemFlush().isFor(63)).toBe(false)
    expect(calls()).toEqual([''])
    expect(await fileSystemFlush().isFor(MANY)).toBe(true)
  })

  test.each([
    [64 * 1024, 0, true],
    [64 * 1024, 1, false],
    [1, 64 * 1024, false],
  ])('is not for files beside %i kB that wait for the disk, and %i kB on their way', async (...these) => {
    const [dirty, writeback, isFor] = these
    Object.assign(system, { dirty, writeback })
    expect(await fileSystemFlush().isFor(MANY)).toBe(isFor)
  })

  test.each([0x01021994, 0x858458f6])('is needless in memory (type %i)', async (type) => {
    system.type = type
    expect(await fileSystemFlush().isFor(1)).toBe(true)
    expect(await fileSystemFlush().flush()).toBe(true)
    expect(calls()).toEqual([''])
  })

  test('is never made by a program on the PATH, and gets nothing of the environment', async () => {
    vi.stubEnv('PATH', place)
    vi.stubEnv('SOFTSIM_API_KEY', 'secret-0123')
    provide(`/usr/bin/env >> '${place}/calls'`)
    // The system's own, or none: either way, it does not know the directory.
    expect(await new FileSystemFlush(join(place, 'nowhere')).flush()).toBe(false)
    expect(calls()).toEqual([''])
    expect(await fileSystemFlush().flush()).toBe(true)
    // The shell that runs it sets some of its own.
    expect(calls().filter((line) => !/^(-f|PWD=|SHLVL=|_=)/.test(line))).toEqual([])
    vi.unstubAllEnvs()
  })

  test('can fail', async () => {
    provide('exit 1')
    const flush = fileSystemFlush()
    expect(await flush.flush()).toBe(false)
    expect(await flush.isFor(MANY)).toBe(false)
  })

  test('is given up after a while', async () => {
    provide('exec sleep 1000')
    expect(await fileSystemFlush(200).flush()).toBe(false)
  })

  // The system reports an error to the first flush only, also if it was about the files of the second.
  test('is not made again after one has failed, by calls that wait for it either', async () => {
    provide(`while [ ! -e '${place}/go' ]; do sleep 0.01; done; exit 1`)
    const whole = fileSystemFlush()
    const first = whole.flush()
    await vi.waitUntil(() => calls()[0] !== '', { timeout: 60_000 })
    const waiting = whole.flush()
    provide()
    writeFileSync(join(place, 'go'), '')
    expect(await Promise.all([first, waiting])).toEqual([false, false])
    expect(await whole.flush()).toBe(false)
    expect(calls()).toEqual(['-f -- /profiles'])
  })

  // The files of the later calls may be written after the first flush has begun.
  test('calls during a flush wait for another one, and share it', async () => {
    provide(
      `while ! mv '${place}/go' '${place}/gone' 2> /dev/null; do sleep 0.01; done; echo done >> '${place}/calls'`,
    )
    const flushes = (count: number) =>
      vi.waitUntil(() => calls().filter((each) => /^-f/.test(each)).length === count, { timeout: 60_000 })
    const whole = fileSystemFlush()
    const ended: string[] = []
    const first = whole.flush().then(() => ended.push('first'))
    await flushes(1)
    const others = ['second', 'third'].map((each) => whole.flush().then(() => ended.push(each)))
    writeFileSync(join(place, 'go'), '')
    await flushes(2)
    expect(ended).toEqual(['first'])
    writeFileSync(join(place, 'go'), '')
    await Promise.all([first, ...others])
    expect(calls()).toEqual(['-f -- /profiles', 'done', '-f -- /profiles', 'done'])
    expect(ended).toEqual(['first', 'second', 'third'])
  })
})
