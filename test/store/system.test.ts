/** What is asked of the file system, in which order, on disks that this machine does not have; and what odd answers of it mean. */
import { createPrivateKey } from 'node:crypto'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { beforeEach, describe, expect, inject, test, vi } from 'vitest'
import { moveProfiles } from '../../src/move/move.ts'
import { handOut } from '../../src/next/next.ts'
import { begin, commit, giveBack } from '../../src/store/claims.ts'
import * as files from '../../src/store/files.ts'
import { disown, identityOf, identityState, renewIdentity } from '../../src/store/identity.ts'
import {
  arrive,
  finishAnswers,
  finishStick,
  give,
  givenIn,
  isOpen,
  makeTarget,
  ordersIn,
  putOrder,
  receive,
  request,
  waitingIn,
} from '../../src/store/incoming.ts'
import { leaveList, look } from '../../src/store/listing.ts'
import { giveUp, isGivenUp, noteTarget, outgoingIn } from '../../src/store/outgoing.ts'
import { openReceipt, readReceipts } from '../../src/store/receipts.ts'
import { removeRubbish } from '../../src/store/rubbish.ts'
import { stateOf } from '../../src/store/state.ts'
import { arriveOnStick, decideOnStick } from '../../src/store/stick.ts'
import { directoryOf, someProfiles } from '../support/directory.ts'
import { BY, lot, messages, names, profile, put, X } from '../support/lot.ts'
import { iccid } from '../support/profiles.ts'
import { hasPosix } from '../support/system.ts'

/** EXT4_SUPER_MAGIC and MSDOS_SUPER_MAGIC of statfs(2). */
const [EXT4, FAT] = [0xef53, 0x4d44]

const { system, pauses } = vi.hoisted(() => ({
  pauses: [] as number[],
  system: {
    /** What statfs(2) says; undefined for the truth. */
    type: undefined as number | undefined,
    steps: [] as (readonly [name: string, path: string])[],
    /** Comes before each step, and may throw in its place. */
    before: (_name: string, _path: string, _to = '') => {},
    /** Whether names are listed in another order: Node sorts them, but not on each system. */
    isReversed: false,
  },
}))

vi.mock('../../src/pause.ts', () => ({ pause: (ms: number) => void pauses.push(ms) }))
vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const paths = new Map<number, string>()
  const step = (name: string, path: unknown, to?: unknown) => {
    system.steps.push([name, String(path)])
    system.before(name, String(path), String(to))
  }
  const stepped = <A extends unknown[], R>(name: string, action: (...all: A) => R) =>
    Object.assign((...all: A): R => {
      step(name, all[0], all[1])
      return action(...all)
    }, action)
  const mocked = {
    openSync: (path: string, ...more: [number | string, number]) => {
      step('open', path)
      const file = fs.openSync(path, ...more)
      paths.set(file, path)
      return file
    },
    closeSync: (file: number) => {
      system.steps.push(['close', paths.get(file) ?? ''])
      fs.closeSync(file)
    },
    fsyncSync: (file: number) => {
      step('flush', paths.get(file))
      fs.fsyncSync(file)
    },
    fsync: (file: number, done: (error: unknown) => void) => {
      try {
        step('flush', paths.get(file))
        done(null)
      } catch (error) {
        done(error)
      }
    },
    readFileSync: stepped('read', fs.readFileSync),
    renameSync: stepped('rename', fs.renameSync),
    unlinkSync: stepped('unlink', fs.unlinkSync),
    unlink: stepped('unlink later', fs.unlink),
    mkdirSync: stepped('mkdir', fs.mkdirSync),
    rmdirSync: stepped('rmdir', fs.rmdirSync),
    readdirSync: ((path: string, options?: undefined) => {
      step('list', path)
      const all = fs.readdirSync(path, options)
      return system.isReversed ? all.reverse() : all
    }) as typeof fs.readdirSync,
    statSync: ((path: string, options?: undefined) => {
      const status = fs.statSync(path, options)
      // As on FAT, where each name has its place.
      if (system.type === 0x4d44 && status?.isDirectory()) status.size = 32 * fs.readdirSync(path).length
      return status
    }) as typeof fs.statSync,
    statfsSync: (path: string) => {
      const status = fs.statfsSync(path)
      if (system.type !== undefined) status.type = system.type
      return status
    },
  }
  return { ...fs, ...mocked, default: { ...fs, ...mocked } }
})

beforeEach(() => {
  pauses.length = 0
  Object.assign(system, { type: undefined, steps: [], before: () => {}, isReversed: false })
})

const failing = (code: string) => Object.assign(new Error(code), { code })

/** Something fails before it is done: the first time, or each. */
function fail(name: string | RegExp, path: string | RegExp, code: string, does = () => {}): void {
  system.before = (own, at) => {
    if (
      !(typeof name === 'string' ? own === name : name.test(own)) ||
      !(typeof path === 'string' ? at === path : path.test(at))
    )
      return
    does()
    throw failing(code)
  }
}

function failOnce(name: string, path: string | RegExp, code: string, does = () => {}): void {
  fail(name, path, code, () => {
    system.before = () => {}
    does()
  })
}

/** What was done, with short names, where `kept` says that it matters. */
function stepsOf(kept: RegExp, ...roots: string[]): string[] {
  const short = (path: string) => {
    const root = roots.find((each) => `${path}/`.startsWith(`${each}/`))
    if (root === undefined) return roots.some((each) => dirname(each) === path) ? '..' : path
    return path.slice(root.length + 1) || (roots.length > 1 ? basename(root) : '.')
  }
  return system.steps
    .map(([name, path]) => `${name} ${short(path)}`.replaceAll(/(?!8988\d{16})[0-9a-f]{20}/g, 'TAG'))
    .filter((each) => kept.test(each))
}

const FLUSHES = /^flush/

/** A disk on which two renames of one file can both succeed. */
function asIfTwoCanWin<T>(action: () => T): T {
  system.type = 0xfe534d42
  return action()
}

describe('the file system', () => {
  test.each([
    ['ext4', 0xef53],
    ['xfs', 0x58465342],
    ['btrfs', 0x9123683e],
    ['tmpfs', 0x01021994],
    ['f2fs', 0xf2f52010],
    ['overlayfs', 0x794c7630],
    ['ZFS', 0x2fc12fc1],
    ['NFS', 0x6969],
    ['FAT', 0x4d44],
    ['exFAT', 0x2011bab0],
    ['ramfs', 0x858458f6],
    ['CIFS', 0xff534d42],
    ['FUSE', 0x65735546],
  ])(
    '%s is known by its number: whether a rename is exact there, and whether it has a disk',
    async (name, type) => {
      const directory = lot(1)
      system.type = type
      expect(files.canTwoWin(directory)).toBe(/^(ramfs|CIFS|FUSE)$/.test(name))
      expect(files.isOnFat(directory)).toBe(/FAT$/.test(name))
      await files.flushFiles([join(directory, X(1))])
      expect(stepsOf(FLUSHES, directory).at(-1)).toBe(
        /^(tmpfs|ramfs)$/.test(name) ? undefined : `flush ${X(1)}`,
      )
    },
  )

  test('that does not know a file for a moment is asked again for a second, and then it is an error', () => {
    const directory = lot(1)
    const path = join(directory, X(1))
    failOnce('read', path, 'ESTALE')
    expect(files.read(path)).toBe(JSON.stringify(profile(1)))
    expect(pauses).toEqual([20])
    fail('read', path, 'ESTALE')
    expect(() => files.read(path)).toThrow('ESTALE')
    expect(pauses).toEqual(Array.from({ length: 51 }, () => 20))
    expect(files.waitFor(() => false)).toBe(false)
    expect(pauses).toHaveLength(101)
    let looks = 0
    expect(files.waitFor(() => ++looks === 50)).toBe(true)
    expect(files.waitFor(() => ++looks === 101)).toBe(false)
    pauses.length = 0
    expect([files.waitFor(() => true), pauses]).toEqual([true, []])
  })

  test.each([
    ['open', () => files.write(join(lot(0), 'new'), '')],
    ['unlink', () => files.remove(join(lot(1), X(1)))],
    ['rename', () => files.rename(join(lot(1), X(1)), join(lot(0), 'to'))],
    ['open', () => files.flushFile(join(lot(1), X(1)))],
    ['open', () => files.flushDirectory(lot(1))],
    ['rmdir', () => files.removeEmpty(lot(0))],
  ])('that does not know a file for a moment is asked again: %s', (name, action) => {
    failOnce(name, /softsim-test/, 'ESTALE')
    expect(action).not.toThrow()
    expect(pauses).toEqual([20])
  })

  test.each(['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'EBADF', 'ENOSYS'])(
    'that can not flush a directory is used all the same: %s',
    async (code) => {
      const directory = lot(1, 'disk')
      system.type = EXT4
      fail('flush', /directory-/, code)
      expect(() => files.flushDirectory(directory)).not.toThrow()
      await files.flushFiles([join(directory, X(1))])
    },
  )

  test.each(['EIO', 'EROFS', 'ENOSPC'])('that fails to flush fails the call: %s', async (code) => {
    const directory = lot(1, 'disk')
    system.type = EXT4
    fail('flush', /directory-/, code)
    expect(() => files.flushDirectory(directory)).toThrow(code)
    expect(() => files.flushFile(join(directory, X(1)))).toThrow(code)
    await expect(files.flushFiles([join(directory, X(1))], true)).rejects.toThrow(code)
  })

  test('has each of many files on it, and no file twice', async () => {
    system.type = EXT4
    const directory = lot(100)
    const paths = names(directory).map((name) => join(directory, name))
    await files.flushFiles(paths)
    const flushed = system.steps.flatMap(([name, path]) => (name === 'flush' ? path : []))
    expect(flushed.sort()).toEqual(paths.sort())
  })

  test('over NFS says of what another client has removed that it is stale: then it is gone', async () => {
    const directory = lot(1, 'disk')
    system.type = EXT4
    fail('open', join(directory, X(1)), 'ESTALE')
    await files.flushFiles([join(directory, X(1))], true)
    await expect(files.flushFiles([join(directory, X(1))])).rejects.toThrow('ESTALE')
  })

  test('that reports an error for a rename that it has done is believed by what is there', () => {
    const directory = lot(2)
    const [one, two] = [join(directory, X(1)), join(directory, X(2))]
    failOnce('rename', one, 'EIO', () => renameSync(one, join(directory, 'to')))
    expect(files.rename(one, join(directory, 'to'))).toBe('there')
    failOnce('rename', two, 'EIO')
    expect(() => files.rename(two, join(directory, 'other'))).toThrow('EIO')
    failOnce('rename', two, 'EIO', () => rmSync(two))
    expect(files.rename(two, join(directory, 'other'))).toBe(false)
  })

  test('over NFS shows what is in the way of a decision to who has changed the directory', () => {
    const directory = lot(0)
    files.prepare(join(directory, 'draft'), 'a', '')
    system.steps = []
    fail('rename', join(directory, 'draft'), 'ENOTEMPTY', () => {
      if (stepsOf(/^unlink/, directory).length === 1) system.before = () => {}
    })
    // The third time, there is nothing any more.
    expect(files.decide(join(directory, 'draft'), join(directory, 'to'), 'a')).toBe('a')
    const changes = ['open .~TAG', 'unlink .~TAG']
    expect(stepsOf(/^(open|unlink) /, directory)).toEqual([...changes, ...changes])
    expect(pauses).toEqual([20, 20])
  })

  test('keeps nothing open that is done with', async () => {
    const directory = lot(2, 'disk')
    const paths = [1, 2].map((n) => join(directory, X(n)))
    system.type = FAT
    fail('flush', paths[0] ?? '', 'EIO')
    expect(() => files.flushFile(paths[0] ?? '')).toThrow('EIO')
    await expect(files.flushFiles(paths)).rejects.toThrow('EIO')
    fail('unlink', paths[0] ?? '', 'EIO')
    expect(() => files.remove(paths[0] ?? '')).toThrow('EIO')
    system.before = () => {}
    const receipt = openReceipt(join(directory, 'r.jsonl'), [directory])
    receipt.append([
      { time: BY.claimed, station: 'A', iccid: iccid(1), device: null, directory },
      { time: BY.claimed, station: 'A', iccid: iccid(2), device: null, directory },
    ])
    expect(readReceipts([directory])).toHaveLength(2)
    fail('flush', join(directory, 'r.jsonl'), 'EIO')
    expect(() => receipt.append([])).toThrow("can't write the receipt")
    system.before = () => {}
    files.write(join(directory, 'new'), 'text')
    expect(() => files.write(join(directory, 'new'), 'text')).toThrow('EEXIST')
    const opened = (name: string) => system.steps.filter(([own]) => own === name).length
    // Two are refused: the name that is there, and nothing else.
    expect(opened('close')).toBe(opened('open') - 1)
  })
})

describe('where only files can be flushed', () => {
  test('a change of names is on the disk when a file is: one that got its name, or a new one', async () => {
    const directory = lot(1, 'disk')
    await asIfTwoCanWin(() => files.flushNames(directory, join(directory, X(1)), join(directory, 'gone')))
    expect(stepsOf(FLUSHES, directory)).toEqual(['flush .', `flush ${X(1)}`])
    system.steps = []
    await files.flushNames(directory)
    expect(stepsOf(/^(flush|unlink)/, directory)).toEqual(['flush .', 'flush .~TAG', 'unlink .~TAG'])
    // Nobody needs that where a directory can be flushed.
    const other = lot(1, 'disk')
    Object.assign(system, { steps: [], type: EXT4 })
    await files.flushNames(other, join(other, X(1)))
    expect(stepsOf(FLUSHES, other)).toEqual(['flush .'])
  })

  test('a profile is taken home only when nobody guards its name; else the move stays as it is', async () => {
    const [source, target] = [lot(2), lot(0)]
    asIfTwoCanWin(() => {})
    const id = `${identityOf(target)}.${'a'.repeat(20)}`
    mkdirSync(join(target, '.incoming'))
    mkdirSync(join(source, '.claims', iccid(1)), { recursive: true })
    renameSync(join(source, X(1)), join(source, `.${X(1)}~${id}+${'b'.repeat(20)}`))
    const order = { source, target, count: 1, isBack: true, isLost: false }
    const rest = { stop: new AbortController().signal, messages: messages(), progress: { follow() {} } }
    await expect(moveProfiles({ ...order, ...rest })).rejects.toMatchObject({
      ...{ outcome: 'disk', message: `other calls hold profiles of ${source}` },
      hint: 'run the same command again, on a share an hour after a killed call',
    })
    expect(names(source)).toEqual([expect.stringContaining('+'), X(2)])
    expect(pauses).toEqual(Array.from({ length: 50 }, () => 20))
  })
})

describe('a stick', () => {
  const onStick = (count: number) => {
    const directory = lot(count)
    system.type = FAT
    return directory
  }
  /** The first names of a new directory are among the changes of the directory above. */
  const ALL = ['flush .', 'flush ..']

  test('frees what was in a file when its name is off the disk, one or many', async () => {
    const directory = onStick(3)
    files.remove(join(directory, X(1)))
    expect(stepsOf(/^(unlink|flush|close 8)/, directory)).toEqual([`unlink ${X(1)}`, ...ALL, `close ${X(1)}`])
    system.steps = []
    await files.removeAll([2, 3, 4].map((n) => join(directory, X(n))))
    expect(stepsOf(/^(unlink|flush|close 8)/, directory)).toEqual([
      ...[2, 3, 4].map((n) => `unlink ${X(n)}`),
      ...[...ALL, `close ${X(2)}`, `close ${X(3)}`],
    ])
    system.steps = []
    expect(files.remove(join(directory, X(1)))).toBe(false)
    expect(files.remove(join(directory, 'none', X(1)))).toBe(false)
    expect(stepsOf(FLUSHES, directory)).toEqual([])
  })

  test('has the names of a file on the disk before its contents, and a new directory at once', async () => {
    const directory = onStick(1)
    files.flushFile(join(directory, X(1)))
    await files.flushFiles([join(directory, X(1))])
    expect(stepsOf(FLUSHES, directory)).toEqual([...ALL, `flush ${X(1)}`, ...ALL, `flush ${X(1)}`])
    system.steps = []
    files.makeNew(join(directory, 'place'))
    expect(stepsOf(/^(flush|mkdir)/, directory)).toEqual(['mkdir place', 'flush place', 'flush .'])
    system.steps = []
    expect(files.makeNew(join(directory, 'place'))).toBe(false)
    expect(stepsOf(FLUSHES, directory)).toEqual([])
  })

  test('grows with the names of what comes, and nobody may read what was in its new part', async () => {
    const directory = onStick(0)
    const textOf = ({ name }: { name: string }) => JSON.stringify(profile(name === X(1) ? 1 : 2))
    await arriveOnStick(directory, [{ name: X(1) }, { name: X(2) }], textOf)
    const named = (n: number) => [`read ${X(n)}`, `open ${X(n)}`]
    expect(stepsOf(/^(flush|open 8|read 8)/, directory)).toEqual([
      ...[...named(1), ...ALL, ...named(2), ...ALL, ...ALL, ...ALL],
      ...[1, 2].flatMap((n) => [`open ${X(n)}`, `flush ${X(n)}`]),
      ...[1, 2].map((n) => `read ${X(n)}`),
    ])
    // What is there is on the disk before anybody concludes from it, also if nothing is written.
    put(directory, 3, `__${X(3)}`)
    system.steps = []
    await arriveOnStick(directory, [{ name: X(3) }], () => undefined)
    expect(stepsOf(FLUSHES, directory)).toEqual(ALL)
  })

  test('has what a new name names on it at once', () => {
    const directory = onStick(1)
    files.rename(join(directory, X(1)), join(directory, X(2)))
    expect(stepsOf(/^(flush|rename)/, directory)).toEqual([`rename ${X(1)}`, ...ALL, `flush ${X(2)}`])
    files.prepare(join(directory, 'draft'), 'entry', 'text')
    system.steps = []
    files.decide(join(directory, 'draft'), join(directory, 'place'), 'entry')
    expect(stepsOf(/^(flush|rename)/, directory)).toEqual(['rename draft', ...ALL, 'flush place'])
    // Somebody has moved it on.
    system.before = (name) => {
      if (name === 'flush') rmSync(join(directory, X(3)), { force: true })
    }
    expect(files.rename(join(directory, X(2)), join(directory, X(3)))).toBe('done')
  })

  test('has what is concluded from on it, whoever made that', () => {
    const directory = onStick(0)
    const place = join(directory, '.incoming', 'abc')
    mkdirSync(join(place, 'given'), { recursive: true })
    writeFileSync(join(place, 'given', 'list'), '{"by":"a","items":[]}')
    expect(givenIn(directory, 'abc')).toEqual({ by: 'a', items: [] })
    expect(stepsOf(FLUSHES, place)).toContain('flush given/list')
    expect(stepsOf(FLUSHES, place)).not.toContain('flush order')
    writeFileSync(join(place, 'order'), '{}')
    givenIn(directory, 'abc')
    expect(stepsOf(FLUSHES, place)).toContain('flush order')
  })

  test('has what is put aside on it before anybody reads it', () => {
    const place = join(onStick(0), 'abc')
    decideOnStick(place, 'order', '{"names":[]}')
    expect(stepsOf(FLUSHES, place).slice(-3)).toEqual(['flush .', 'flush ..', 'flush order'])
  })

  test('gets profiles under their names at once, and each is on it before the move forgets any', async () => {
    const source = lot(2)
    const target = lot(0)
    // Of the two, only the target is one.
    for (const each of [source, join(source, '.outgoing'), dirname(source)]) {
      system.type = each === source ? EXT4 : undefined
      mkdirSync(each, { recursive: true })
      files.isOnFat(each)
    }
    system.type = FAT
    files.isOnFat(target)
    const order = { source, target, count: 2, isBack: false, isLost: false }
    const rest = { stop: new AbortController().signal, messages: messages(), progress: { follow() {} } }
    await moveProfiles({ ...order, ...rest })
    const steps = stepsOf(/^(flush|rename|unlink)/, target)
    const at = (step: string) => steps.lastIndexOf(step)
    expect(steps.filter((step) => step.startsWith('rename') && !step.includes(source))).toEqual([])
    expect(at('flush .incoming/TAG.TAG/given/list')).toBeGreaterThan(0)
    for (const n of [1, 2]) {
      expect(at(`flush ${X(n)}`)).toBeGreaterThan(at('flush .incoming/TAG.TAG/given/list'))
      const left = steps.findIndex((step) => step.startsWith(`unlink later ${source}/.${X(n)}`))
      expect(left).toBeGreaterThan(at(`flush ${X(2)}`))
    }
    expect([names(source), names(target)]).toEqual([[], [X(1), X(2)]])
    expect(readdirSync(join(target, '.incoming'))).toEqual([])
  })

  test('tells no time of birth: a copy of it is none, and it has an identity all the same', () => {
    const directory = onStick(1)
    const id = identityOf(directory)
    expect(readFileSync(join(directory, '.identity', id), 'utf8')).toBe('')
    disown(directory)
    expect(stepsOf(/^rename/, directory)).toEqual([])
    writeFileSync(join(directory, '.identity', id), '{"birth":"1"}')
    put(directory, 1, `__${X(1)}`)
    expect(identityState(directory)).toBe('own')
    renewIdentity(directory)
    expect(identityOf(directory)).not.toBe(id)
  })

  test('gets no list of what is unused, which would be renamed there', () => {
    const directory = onStick(1000)
    expect(leaveList(directory)).toBe(1000)
    expect(readdirSync(directory)).not.toContain('.unused')
  })

  test('loses what a power cut has left of an answer, and keeps what is whole', async () => {
    const directory = onStick(0)
    for (const [id, kind, text] of [
      ['a', 'answer', ''],
      ['b', 'answer', `${JSON.stringify(profile(1))}\n`],
      ['c', 'order', '{"na'],
      ['d', 'order', '{"names":[]}'],
    ] as const) {
      mkdirSync(join(directory, '.incoming', id), { recursive: true })
      writeFileSync(join(directory, '.incoming', id, kind), text)
    }
    expect(['c', 'd', 'e'].map((id) => isOpen(directory, id))).toEqual([false, true, false])
    await finishAnswers(directory, messages())
    expect([names(directory), readdirSync(join(directory, '.incoming'))]).toEqual([[X(1)], ['d']])
    // What is whole only a moment later is kept for the next call.
    const late = join(directory, '.incoming', 'e')
    mkdirSync(late)
    writeFileSync(join(late, 'answer'), '')
    system.before = (name, path) => {
      if (name !== 'read' || path !== join(late, 'order')) return
      writeFileSync(join(late, 'answer'), `${JSON.stringify(profile(2))}\n`)
    }
    await finishAnswers(directory, messages())
    expect(readdirSync(join(late))).toEqual(['answer'])
  })

  test('gives out nothing while a move into it is not finished', async () => {
    const directory = onStick(2)
    await putOrder(directory, { id: 'a.b', source: 'abc', from: '/there', names: [X(1)] })
    const key = { object: createPrivateKey(inject('keys').privateKey), name: 'the key' }
    const order = { directory, key, format: 'raw', options: { smsp: false, smsc: true, crc: true } } as const
    const rest = { stop: new AbortController().signal, messages: messages() }
    await expect(handOut({ ...order, ...rest, count: 1, hold() {} }, async () => {})).rejects.toMatchObject({
      outcome: 'no-profiles',
      message: `a move into ${directory} is not finished`,
      hint: 'if it does not run any more, run that command again: it finishes the move; nothing was claimed',
    })
    const target = lot(0)
    const move = (isBack: boolean) =>
      moveProfiles({
        ...{ ...rest, source: directory, target, count: 1, isBack, isLost: false },
        progress: { follow() {} },
      })
    await expect(move(false)).rejects.toThrow('is not finished')
    // It takes nothing away.
    await move(true)
    expect(names(directory)).toEqual([X(1), X(2)])
    // One that has come only since the call has begun.
    const place = join(directory, '.incoming', 'a.b')
    const text = readFileSync(join(place, 'order'), 'utf8')
    rmSync(join(place, 'order'))
    let looks = 0
    system.before = (name, path) => {
      if (name !== 'list' || path !== join(directory, '.outgoing') || ++looks !== 2) return
      mkdirSync(place, { recursive: true })
      writeFileSync(join(place, 'order'), text)
    }
    await expect(move(false)).rejects.toThrow('is not finished')
    expect(looks).toBe(2)
    expect(names(directory)).toEqual([X(1), X(2)])
    rmSync(join(directory, '.incoming'), { recursive: true })
    await finishStick(directory, messages())
    await move(false)
    expect(names(target)).toEqual([X(1)])
  })

  test('that a power cut has left with both names of what a move holds keeps neither', async () => {
    const [source, target] = [onStick(2), lot(0)]
    const id = `${identityOf(target)}.${'a'.repeat(20)}`
    await putOrder(target, { id, source: identityOf(source), from: source, names: [X(1)] })
    const tag = `${id}+${'b'.repeat(20)}`
    put(source, 1, `.${X(1)}~${tag}`)
    const order = { source, target, count: 1, isBack: false, isLost: false }
    const rest = { stop: new AbortController().signal, messages: messages(), progress: { follow() {} } }
    await moveProfiles({ ...order, ...rest })
    expect([names(source), names(target)]).toEqual([[X(2)], [X(1)]])
    // Whoever is late takes nothing away that has come home since.
    const late = `${id}0`
    await putOrder(target, { id: late, source: identityOf(source), from: source, names: [X(2)] })
    await give(target, late, [{ name: X(2), tag: `${late}+${'b'.repeat(20)}` }], new Map())
    put(target, 2, `__${X(2)}`)
    await moveProfiles({ ...order, ...rest })
    expect([names(source), names(target)]).toEqual([[X(2)], [X(1), `__${X(2)}`]])
  })
})

test('lists are in the order of the ICCIDs, in whatever order the system tells the names', async () => {
  const [directory, target, place] = [lot(3), lot(0), lot(0)]
  for (const n of [4, 5]) put(directory, n, `__${X(n)}`)
  system.isReversed = true
  const { unused, used } = look(directory)
  expect([unused, used]).toEqual([[1, 2, 3].map(X), [4, 5].map(X)])
  const receipt = join(place, 'b.jsonl')
  const rest = { stop: new AbortController().signal, messages: messages(), progress: { follow() {} } }
  const order = { source: directory, target, count: 3, isBack: false, isLost: false, receipt }
  await moveProfiles({ ...order, ...rest })
  const digits = () => readReceipts([place]).map((each) => each.iccid)
  expect(digits()).toEqual([1, 2, 3].map((n) => iccid(n)))
  const line = { time: BY.claimed, station: 'A', iccid: iccid(9), device: null, directory }
  for (const name of ['a.jsonl', 'c.jsonl']) writeFileSync(join(place, name), `${JSON.stringify(line)}\n`)
  expect(digits()).toEqual([9, 1, 2, 3, 9].map((n) => iccid(n)))
})

test('a look on NFS may be older than a list: what that names is looked at again', () => {
  const directory = lot(1)
  system.before = (name, path) => {
    if (name === 'list' && path === directory) put(directory, 2, `__${X(2)}`)
  }
  expect(stateOf(directory, iccid(2))).toMatchObject({ state: 'used', name: X(2) })
})

test('a directory has not lost what another call is making, nor has it two identities', () => {
  const directory = lot(0)
  put(directory, 1, `__${X(1)}`, { device: 'D', claim: 'a' })
  let times = 0
  system.before = (name, path, to) => {
    if (name === 'rename' && to === join(directory, '.identity') && ++times === 1) {
      mkdirSync(to)
      writeFileSync(join(to, 'e'.repeat(20)), '{"birth":"0"}')
    }
    if (name === 'read' && path === join(directory, `__${X(1)}`)) mkdirSync(join(directory, '.devices'))
  }
  expect(identityOf(directory)).toBe('e'.repeat(20))
  expect([times, readdirSync(join(directory, '.claims'))]).toEqual([1, []])
  expect(identityState(directory)).toBe('own')
})

test('a directory whose identity another call has renewed since it was listed is none that is copied', () => {
  const directory = lot(1)
  const id = identityOf(directory)
  system.before = (name, path) => {
    if (name !== 'read' || basename(path) !== id) return
    system.before = () => {}
    renewIdentity(directory)
    put(directory, 2, `__${X(2)}`)
  }
  expect(identityState(directory)).toBe('none')
  expect(identityState(directory)).toBe('own')
})

describe('a move', () => {
  const id = (target: string) => `${identityOf(target)}.${'a'.repeat(20)}`
  const move = (source: string, target: string) =>
    moveProfiles({
      ...{ source, target, count: 1, isBack: false, isLost: false, messages: messages() },
      ...{ stop: new AbortController().signal, progress: { follow() {} } },
    })

  /** At the next such step, another directory comes into the place of the target. */
  const swapAt = (step: string, path: string, target: string) => {
    system.before = (name, own) => {
      if (name !== step || own !== path) return
      system.before = () => {}
      renameSync(target, `${target}.gone`)
      mkdirSync(join(target, '.incoming'), { recursive: true })
      identityOf(target)
    }
  }

  test('gives nothing back because of another directory in the place of its target', async () => {
    const [source, target] = [lot(2), lot(0)]
    const own = id(target)
    await putOrder(target, { id: own, source: identityOf(source), from: source, names: [X(1)] })
    renameSync(join(source, X(1)), join(source, `.${X(1)}~${own}+${'b'.repeat(20)}`))
    swapAt('read', join(target, '.incoming', own, 'given', 'list'), target)
    await expect(move(source, target)).rejects.toMatchObject({
      ...{ outcome: 'disk', message: `another directory is at ${target} now` },
      hint: 'when both disks are there, with room, run the same command again: it finishes the move',
    })
    expect(names(source)).toEqual([expect.stringContaining('+'), X(2)])
  })

  test('keeps the note of its target until its order is closed there, and not in another directory', async () => {
    const [source, target] = [lot(2), lot(0)]
    const own = id(target)
    await putOrder(target, { id: own, source: identityOf(source), from: source, names: [X(1)] })
    swapAt('rename', join(target, '.incoming', own), target)
    await expect(move(source, target)).rejects.toThrow('another directory is at')
    expect(outgoingIn(source)).toEqual([{ id: own, to: target }])
  })

  test('never gives back what has come, also if it can not be removed', async () => {
    const [source, target] = [lot(2), lot(0)]
    // As where the source was away for a moment.
    fail(/^unlink/, /[+]/, 'ENOENT')
    await expect(move(source, target)).rejects.toThrow(`other calls hold profiles of ${source}`)
    expect([names(source), names(target)]).toEqual([[expect.stringContaining('+'), X(2)], [X(1)]])
    system.before = () => {}
    await move(source, target)
    expect([names(source), names(target), ordersIn(target)]).toEqual([[X(2)], [X(1)], []])
  })

  test('that is given up while it ends is not closed: what came must never be used there', async () => {
    const [source, target] = [lot(2), lot(0)]
    const own = id(target)
    await putOrder(target, { id: own, source: identityOf(source), from: source, names: [X(1)] })
    system.before = (name, path) => {
      if (!name.startsWith('unlink') || !path.includes('+')) return
      system.before = () => {}
      giveUp(source, own)
    }
    await expect(move(source, target)).rejects.toMatchObject({ outcome: 'copy' })
    expect([ordersIn(target).length, isGivenUp(source, own)]).toEqual([1, true])
  })
})

test('what was given back is looked for with a fresh look', async () => {
  const directory = directoryOf(someProfiles(1))
  begin(directory, X(1), BY)
  const key = { object: createPrivateKey(inject('keys').privateKey), name: 'the key' }
  const order = { directory, key, format: 'raw', options: { smsp: false, smsc: true, crc: true } } as const
  const rest = { stop: new AbortController().signal, messages: messages(), count: 1, hold() {} }
  system.steps = []
  await handOut({ ...order, ...rest, iccid: iccid(1) }, async () => {})
  const steps = stepsOf(/^(rename|unlink)/, directory)
  const back = steps.indexOf(`rename .${X(1)}~TAG`)
  // Whoever makes a file there, and removes it, sees what is there.
  expect(steps.slice(back, back + 3)).toEqual([`rename .${X(1)}~TAG`, 'unlink .~TAG', `rename ${X(1)}`])
})

describe('a claim', () => {
  test('leaves no draft where the rename of its profile fails', () => {
    const directory = lot(1)
    fail('rename', join(directory, X(1)), 'EIO')
    expect(() => begin(directory, X(1), BY)).toThrow('EIO')
    expect(readdirSync(directory)).toEqual([X(1)])
  })

  test('whose decision others have voided meanwhile is no error, whatever the disk says', async () => {
    const directory = lot(1)
    const claim = begin(directory, X(1), BY)
    if (claim === undefined) throw new Error('nothing to hold')
    fail('rename', claim.places.draft, 'EIO', () => rmSync(claim.places.draft, { force: true }))
    const used: (typeof claim)[] = []
    await commit(directory, [claim], used)
    expect([used, readdirSync(directory)]).toEqual([[], [X(1)]])
  })

  test('that was void is void also when that is over, and an old look still shows its draft', async () => {
    const directory = lot(1)
    const claim = begin(directory, X(1), BY)
    if (claim === undefined) throw new Error('nothing to hold')
    fail('rename', claim.places.draft, 'EISDIR')
    const used: (typeof claim)[] = []
    await commit(directory, [claim], used)
    expect(used).toEqual([])
  })

  test('that somebody else is giving back is left to them', async () => {
    const directory = lot(1)
    const { places, ...held } = begin(directory, X(1), BY) ?? {}
    failOnce('mkdir', places?.decision ?? '', 'EEXIST')
    expect(await giveBack(directory, held as never)).toBe(false)
    expect(names(directory)).toEqual([basename(places?.held ?? ''), basename(places?.draft ?? '')].sort())
  })

  test.each([
    ['a directory', (path: string) => mkdirSync(path), [X(1)]],
    ['nothing', () => {}, undefined],
    ['a file', (path: string) => writeFileSync(path, '{}'), 'EPERM'],
  ])('is judged where no directory can be opened, and the decision is %s', async (_, make, result) => {
    const directory = lot(1)
    const { places, ...held } = begin(directory, X(1), BY) ?? {}
    const decision = places?.decision ?? ''
    make(decision)
    fail('read', decision, 'EPERM')
    const before = system.before
    system.before = (name, path) => {
      if (name === 'mkdir' && path === decision) throw failing('EEXIST')
      before(name, path)
    }
    const given = giveBack(directory, held as never).then(
      () => names(directory),
      (error) => error.code,
    )
    expect(await given).toEqual(result ?? names(directory))
    expect(names(directory).includes(X(1))).toBe(Array.isArray(result))
  })
})

describe('what comes', () => {
  test('has a directory whose own name is on the disk, for this user alone', () => {
    const directory = join(lot(0), 'new')
    makeTarget(directory)
    expect(stepsOf(/^(mkdir|flush)/, directory)).toEqual(['mkdir .', 'flush .', 'flush ..'])
    if (hasPosix) expect(statSync(directory).mode & 0o777).toBe(0o700)
    system.steps = []
    makeTarget(directory)
    expect(stepsOf(FLUSHES, directory)).toEqual([])
  })

  test('is decided if that can be flushed, or is finished if its place is gone', () => {
    const directory = lot(0)
    const place = join(directory, '.incoming', 'abc')
    mkdirSync(join(place, 'given'), { recursive: true })
    writeFileSync(join(place, 'given', 'list'), '{"by":"b","items":[]}')
    expect(givenIn(directory, 'abc')).toEqual({ by: 'b', items: [] })
    for (const each of [place, dirname(place)]) {
      failOnce('open', each, 'EIO')
      expect(() => givenIn(directory, 'abc')).toThrow('EIO')
      failOnce('open', each, 'ENOENT')
      expect(givenIn(directory, 'abc')).toBeUndefined()
    }
  })

  test('is not taken for finished by somebody else if its list can not be written', async () => {
    const directory = lot(0)
    await putOrder(directory, { id: 'abc.def', source: 's', from: '/s', names: [X(1)] })
    fail('open', /list$/, 'EIO')
    const given = give(directory, 'abc.def', [{ name: X(1), tag: 't' }], new Map([[X(1), 'text']]))
    await expect(given).rejects.toThrow('EIO')
  })

  test('into a directory that somebody else makes meanwhile is no error, and any other one is', () => {
    const directory = join(lot(0), 'new')
    failOnce('mkdir', directory, 'EEXIST')
    expect(() => makeTarget(directory)).not.toThrow()
    failOnce('mkdir', directory, 'EIO')
    expect(() => makeTarget(directory)).toThrow(`can't make the directory ${directory}`)
  })

  test('of a request that can not be noted leaves no note of it', () => {
    const directory = lot(0)
    identityOf(directory)
    fail('flush', join(directory, '.incoming'), 'EIO')
    expect(() => request(directory, 1)).toThrow(`can't write to ${directory}`)
    expect(waitingIn(directory).requests).toEqual([])
  })

  test('is put aside again if somebody has taken its draft for rubbish', async () => {
    const directory = lot(0)
    const noted = request(directory, 1)
    const draft = join(directory, '.incoming', `~${noted.id}`)
    let times = 0
    system.before = (name, path) => {
      if (name === 'rename' && path === draft && ++times === 1) rmSync(draft, { recursive: true })
    }
    expect(await receive(directory, noted, [profile(1)])).toBe(1)
    expect([names(directory), times]).toEqual([[X(1)], 2])
  })

  test('by a move is not ordered again then: nothing was moved', async () => {
    const directory = lot(0)
    const draft = join(directory, '.incoming', '~a.b')
    system.before = (name, path) => {
      if (name === 'rename' && path === draft) rmSync(draft, { recursive: true })
    }
    const order = { id: 'a.b', source: 'abc', from: '/there', names: [X(1)] }
    await expect(putOrder(directory, order)).rejects.toMatchObject({
      ...{ outcome: 'disk', message: `the order of the move in ${directory} is gone` },
      hint: 'run the same command again; nothing was moved',
    })
  })

  test('is what the first one has decided, and the files of the other one go', async () => {
    const directory = lot(0)
    mkdirSync(join(directory, '.incoming', 'abc'), { recursive: true })
    const place = join(directory, '.incoming', 'abc', 'given')
    const first = { by: 'f'.repeat(20), items: [] }
    system.before = (name, _, to) => {
      if (name !== 'rename' || to !== place) return
      mkdirSync(place, { recursive: true })
      writeFileSync(join(place, 'list'), JSON.stringify(first))
    }
    expect(await give(directory, 'abc', [{ name: X(1) }], new Map([[X(1), 'text']]))).toEqual(first)
    expect(names(directory)).toEqual([])
    expect(readdirSync(join(directory, '.incoming', 'abc'))).toEqual(['given'])
  })

  test('is not given by who can not write it, and is no error if somebody has finished it meanwhile', async () => {
    const directory = lot(0)
    mkdirSync(join(directory, '.incoming', 'abc'), { recursive: true })
    const all = [[{ name: X(1) }], new Map([[X(1), 'text']])] as const
    fail('open', /@/, 'ENOENT')
    await expect(give(directory, 'abc', ...all)).rejects.toThrow('ENOENT')
    fail('open', /@/, 'EIO', () =>
      rmSync(join(directory, '.incoming', 'abc'), { recursive: true, force: true }),
    )
    await expect(give(directory, 'abc', ...all)).rejects.toThrow('EIO')
    fail('open', /@/, 'ENOENT')
    expect(await give(directory, 'abc', ...all)).toBeUndefined()
  })

  test('by a move is looked for again when all have their names: the directory may have been away', async () => {
    const directory = lot(0)
    const [id, by] = [`${'a'.repeat(20)}.${'b'.repeat(20)}`, 'c'.repeat(20)]
    mkdirSync(join(directory, '.incoming'))
    put(directory, 2, `.${id}@${by}~${X(2)}`)
    put(directory, 1, `.${id}@${by}~${X(1)}`)
    const items = (tag?: string) => ({ by, items: [{ name: X(1), tag }] })
    await expect(arrive(directory, id, items('t'), () => undefined)).rejects.toMatchObject({
      ...{ outcome: 'disk', message: `profiles for ${directory} have no names yet` },
      hint: 'run the same command again',
    })
  })
})

test('the note of a move may be that of another call, which may have finished it; else an error is one', () => {
  const directory = lot(0)
  const note = { id: 'a.b', to: '/there' }
  const path = join(directory, '.outgoing', 'a.b')
  for (const code of ['EEXIST', 'ENOENT']) {
    failOnce('open', path, code)
    expect(() => noteTarget(directory, note)).not.toThrow()
  }
  failOnce('open', path, 'EIO')
  expect(() => noteTarget(directory, note)).toThrow('EIO')
  noteTarget(directory, note)
  system.steps = []
  noteTarget(directory, { ...note, to: '/elsewhere' })
  expect(readFileSync(path, 'utf8')).toBe('/there')
  expect(stepsOf(FLUSHES, directory)).toEqual(['flush .outgoing/a.b', 'flush .outgoing'])
  // A call that was killed had made it, and not written it.
  writeFileSync(path, '')
  noteTarget(directory, note)
  expect(outgoingIn(directory)).toEqual([note])
  // Whoever hears that a move was given up may lose power then.
  system.steps = []
  giveUp(directory, note.id)
  expect(stepsOf(FLUSHES, directory)).toEqual(['flush .outgoing'])
})

test('rubbish that can not be removed wholly stays hidden, and nobody knows its name', () => {
  const directory = lot(1)
  const draft = `.~${'d'.repeat(20)}`
  writeFileSync(join(directory, draft), '')
  mkdirSync(join(directory, '.claims', iccid(9)), { recursive: true })
  for (const path of [draft, `.claims/${iccid(9)}`]) utimesSync(join(directory, path), 1, 1)
  system.before = (name) => {
    if (/^(rmdir|unlink)/.test(name)) throw failing('EACCES')
  }
  expect(() => removeRubbish(directory, look(directory), messages())).not.toThrow()
  expect(names(directory).filter((name) => !name.startsWith('.~') || name === draft)).toEqual([X(1)])
  expect(readdirSync(join(directory, '.claims'))).toEqual([expect.stringMatching(/^~[0-9a-f]{20}$/)])
})

test.each(['ESTALE', 'EACCES', 'EBUSY', 'EPERM'])(
  'on Windows, what somebody else has open for a moment is asked for again: %s',
  async (code) => {
    const [path, { platform }] = [join(lot(1), X(1)), process]
    Object.defineProperty(process, 'platform', { value: 'win32' })
    vi.resetModules()
    const { read } = await import('../../src/store/files.ts').finally(() =>
      Object.defineProperty(process, 'platform', { value: platform }),
    )
    failOnce('read', path, code)
    expect(read(path)).toBe(JSON.stringify(profile(1)))
    expect(pauses).toEqual([20])
  },
)
