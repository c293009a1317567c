import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { UnusableProfile } from '../../../src/failure.ts'
import { begin, complete as completeWith, release } from '../../../src/store/claim/claim.ts'
import { decide, takeOver } from '../../../src/store/claim/take-over.ts'
import { readUnused } from '../../../src/store/read.ts'
import { temporaryDirectory } from '../../support/directory.ts'
import { isWindows } from '../../support/system.ts'

/** What another process does right before a file is opened, what the disk says after a rename, and what it is. */
const disk = vi.hoisted(() => ({
  meanwhile: (_path: string) => {},
  renamed: () => {},
  /** Of statfs(2). */
  type: 0,
}))

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const openSync: typeof fs.openSync = (path, flags, mode) => {
    disk.meanwhile(String(path))
    return fs.openSync(path, flags, mode)
  }
  const renameSync: typeof fs.renameSync = (from, to) => {
    fs.renameSync(from, to)
    disk.renamed()
  }
  const statfsSync = () => ({ type: disk.type })
  return {
    ...fs,
    openSync,
    renameSync,
    statfsSync,
    default: { ...fs, openSync, renameSync, statfsSync },
  }
})

afterEach(() => {
  disk.meanwhile = () => {}
  disk.renamed = () => {}
  disk.type = 0
})

/** A new directory with these files, each of which holds its own name. */
function directoryWith(...names: string[]): string {
  const directory = temporaryDirectory()
  for (const name of names) writeFileSync(join(directory, name), name)
  return directory
}

/** Each file holds its own name. */
const complete = (directory: string, name: string) => completeWith(directory, name, name)
const claim = (directory: string, name: string) => begin(directory, name) && complete(directory, name)

/** False also where somebody else has renamed the file amid the claim. */
function isClaimed(directory: string, name: string): boolean {
  try {
    return claim(directory, name)
  } catch (error) {
    expect(error).toBeInstanceOf(UnusableProfile)
    return false
  }
}

test('a claim renames the file', () => {
  const directory = directoryWith('1.json', '2.json')
  expect(claim(directory, '1.json')).toBe(true)
  expect(readdirSync(directory).sort()).toEqual(['2.json', '__1.json'])
})

test('a profile can be claimed only once', () => {
  const directory = directoryWith('1.json')
  expect([claim(directory, '1.json'), claim(directory, '1.json')]).toEqual([true, false])
})

test.each(['1.json', '1F.json', '1f.json'])(
  'a profile that is used in another spelling is not claimed: %s',
  (used) => {
    for (const unused of ['1.json', '1F.json', '1f.json'].filter((each) => each !== used)) {
      const directory = directoryWith(unused, `__${used}`)
      expect(claim(directory, unused)).toBe(false)
      expect(readdirSync(directory).sort()).toEqual([unused, `__${used}`].sort())
    }
  },
)

test('a claim does not overwrite a used profile', () => {
  const directory = directoryWith('1.json', '__1.json')
  expect(claim(directory, '1.json')).toBe(false)
  expect(readFileSync(join(directory, '__1.json'), 'utf8')).toBe('__1.json')
  expect(existsSync(join(directory, '1.json'))).toBe(true)
})

test('of two calls that find a profile unused, the one that creates the used name has it', () => {
  const directory = directoryWith('1.json')
  // It has not renamed the unused file yet.
  disk.meanwhile = (path) => writeFileSync(path, '')
  expect(claim(directory, '1.json')).toBe(false)
  expect(readFileSync(join(directory, '1.json'), 'utf8')).toBe('1.json')
  expect(readFileSync(join(directory, '__1.json'), 'utf8')).toBe('')
})

test.skipIf(isWindows).each([
  [4, ['__1.json']],
  [5, ['1.json']],
])('over SFTP, other calls had the used name %i times in a row and gave it back', (times, names) => {
  const directory = directoryWith('1.json')
  let left = times
  disk.meanwhile = () => {
    if (left-- > 0) throw Object.assign(new Error('operation not permitted'), { code: 'EPERM' })
  }
  if (times < 5) expect(claim(directory, '1.json')).toBe(true)
  else
    expect(() => claim(directory, '1.json')).toThrow(
      expect.objectContaining({ facts: { kind: 'not-claimed' } }),
    )
  expect(readdirSync(directory)).toEqual(names)
})

describe('a claim that is begun and not complete', () => {
  /** As the names are right after the first of the two steps. */
  function begun(): string {
    const directory = directoryWith('1.json', '2.json')
    expect(begin(directory, '1.json')).toBe(true)
    return directory
  }

  test('counts as used', () => {
    const directory = begun()
    expect(claim(directory, '1.json')).toBe(false)
    expect([...readUnused(directory).iccids]).toEqual(['2'])
    expect(readUnused(directory).twins).toEqual(['1.json'])
  })

  test('may be complete although the disk reports an error: nobody says that nothing was claimed', () => {
    const directory = begun()
    disk.renamed = () => {
      throw Object.assign(new Error('EIO'), { code: 'EIO' })
    }
    expect(() => complete(directory, '1.json')).toThrow(
      expect.objectContaining({
        message: expect.stringMatching('1.json may now count as used but was not printed'),
        facts: { kind: 'stuck' },
      }),
    )
    expect(readFileSync(join(directory, '__1.json'), 'utf8')).toBe('1.json')
  })

  test('can be released: the unused file was there all the time', () => {
    const directory = begun()
    release(directory, '1.json')
    expect(readdirSync(directory).sort()).toEqual(['1.json', '2.json'])
    expect(claim(directory, '1.json')).toBe(true)
  })

  test('can be taken over: then the first call has lost it', () => {
    const directory = begun()
    expect(takeOver(directory, '1.json')).toBe('ours')
    expect(complete(directory, '1.json')).toBe(false)
    release(directory, '1.json')
    expect(readFileSync(join(directory, '__1.json'), 'utf8')).toBe('1.json')
  })

  test('leaves the used name if the unused one is gone: over a network, what another tool put there may look empty', () => {
    const directory = directoryWith('1.json')
    begin(directory, '1.json')
    renameSync(join(directory, '1.json'), join(directory, 'elsewhere'))
    expect(complete(directory, '1.json')).toBe(false)
    expect(readdirSync(directory).sort()).toEqual(['__1.json', 'elsewhere'])
  })

  test('is lost although its rename succeeds, as it can on Windows and SMB', () => {
    const directory = begun()
    expect(takeOver(directory, '1.json')).toBe('ours')
    writeFileSync(join(directory, '1.json'), '1.json')
    expect(complete(directory, '1.json')).toBe(false)
  })

  test.runIf(process.platform === 'linux')('on FAT, a file that replaced the empty one is left alone', () => {
    const directory = begun()
    disk.type = 0x4d44
    writeFileSync(join(directory, '__1.json'), 'of a device')
    expect(complete(directory, '1.json')).toBe(false)
    expect(readFileSync(join(directory, '__1.json'), 'utf8')).toBe('of a device')
    expect(readFileSync(join(directory, '1.json'), 'utf8')).toBe('1.json')
  })

  test('is finished by the next call if the one that took it over was killed', () => {
    const directory = begun()
    mkdirSync(join(directory, '.1.settled'))
    expect(takeOver(directory, '1.json')).toBe('left')
    expect(takeOver(directory, '1.json', true)).toBe('finished')
    expect(readFileSync(join(directory, '__1.json'), 'utf8')).toBe('1.json')
  })

  test('is left alone if it was taken over for the device that it names', () => {
    const directory = begun()
    mkdirSync(join(directory, '.1.settled'))
    expect(decide(directory, '1.json', 'device')).toBe(true)
    expect(decide(directory, '1.json', 'nobody')).toBe(false)
    expect(decide(directory, '1.json', 'device')).toBe(true)
    expect(takeOver(directory, '1.json', true)).toBe('left')
    expect(readFileSync(join(directory, '__1.json'), 'utf8')).toBe('')
  })

  test('is left alone while its call releases it', () => {
    const directory = begun()
    writeFileSync(join(directory, '.1.settled'), '')
    expect(takeOver(directory, '1.json')).toBe('left')
    expect(readFileSync(join(directory, '__1.json'), 'utf8')).toBe('')
    expect(() => release(directory, '1.json')).toThrow(expect.objectContaining({ facts: { kind: 'stuck' } }))
  })

  test('a claim that is complete is neither released nor taken over', () => {
    const directory = begun()
    expect(complete(directory, '1.json')).toBe(true)
    release(directory, '1.json')
    expect(takeOver(directory, '1.json')).toBe('left')
    expect(readFileSync(join(directory, '__1.json'), 'utf8')).toBe('1.json')
  })
})

test.skipIf(isWindows)(
  'against a tool that only renames, each profile has one winner and keeps its contents',
  async () => {
    const names = Array.from({ length: 400 }, (_, at) => `${at}.json`)
    const directory = directoryWith(...names)
    const rival = fork(join(import.meta.dirname, '../rename-only.mjs'), [directory, String(names.length)])
    await once(rival, 'message')
    rival.send('go')
    const theirs = once(rival, 'message')
    const ours = names.filter((name) => isClaimed(directory, name))
    const [won] = (await theirs) as [string[]]
    expect([...ours, ...won].sort()).toEqual([...names].sort())
    expect(readdirSync(directory)).toHaveLength(names.length)
    for (const name of names) expect(readFileSync(join(directory, `__${name}`), 'utf8')).toBe(name)
  },
)
