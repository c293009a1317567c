import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { readDecided } from '../../src/store/claim.ts'
import { createAll, openClaims, settle } from '../../src/store/decision.ts'
import { CLAIMS } from '../../src/store/names.ts'
import { namesIn, temporaryDirectory } from '../support/directory.ts'
import { leaveClaim } from '../support/store.ts'
import { disk, once, systemError } from '../support/watched-fs.ts'

vi.mock('node:fs', async () => (await import('../support/watched-fs.ts')).watchedFs)

/** What happens while a call waits. */
const waits = vi.hoisted(() => ({ meanwhile: () => {} }))
vi.mock('../../src/pause.ts', () => ({ pause: () => waits.meanwhile() }))

const STORED = JSON.stringify({ iccid: '8988001', profile: 'AAAA' })
/** What file systems say of themselves. */
const [EXT4, FAT, FUSE, UNKNOWN] = [0xef53, 0x4d44, 0x65735546, 1]
const NAME = '8988001.json'
const USED = `__${NAME}`
const textOf = (claim: string) => JSON.stringify({ ...JSON.parse(STORED), file: NAME, claim })
const claim = (name: string) => ({ key: '8988001', text: textOf(name) })
const onDisk = (type: number) => {
  disk.space = { type }
}
const fails = (code = 'EIO') => {
  throw systemError(code)
}

let directory = ''
const path = (name: string) => join(directory, name)
const read = (name: string) => readFileSync(path(name), 'utf8')
/** Also those that nobody reads. */
const claims = () => readdirSync(path(CLAIMS))
const leftClaim = (key: string, text: string) => leaveClaim(directory, key, text)
const states = async (...names: string[]) =>
  (await createAll(directory, names.map(claim))).map(({ state }) => state)

beforeEach(() => {
  directory = temporaryDirectory()
  writeFileSync(path(NAME), STORED)
})

/** Without a journal, and on FAT, what is decided is written again. */
const DISKS = { 'with a journal': EXT4, 'without one': UNKNOWN, 'on FAT': FAT }
describe.each(Object.entries(DISKS))('%s', (_, type) => {
  beforeEach(() => {
    onDisk(type)
  })

  test('what is created is complete, replaces the unused file, and leaves nothing else', async () => {
    expect(await states('one')).toEqual(['ours'])
    expect([read(USED), namesIn(directory), claims()]).toEqual([textOf('one'), [USED], []])
  })

  test('a claim that this client still knows, and another one has removed, is not in the way (NFS)', async () => {
    once('before', 'rename', join(CLAIMS, '8988001'), () => fails('ESTALE'))
    expect(await states('one')).toEqual(['ours'])
    expect([read(USED), claims()]).toEqual([textOf('one'), []])
  })

  test('of many at once, and of all that come later, one is told that it is its own', async () => {
    const all = await Promise.all([...'abcdefgh'].map((each) => states(each)))
    expect(all.flat().sort()).toEqual([...Array(7).fill('others'), 'ours'])
    const winner = 'abcdefgh'[all.findIndex(([state]) => state === 'ours')] ?? ''
    expect(await states('late', 'later')).toEqual(['others', 'others'])
    expect([read(USED), namesIn(directory), claims()]).toEqual([textOf(winner), [USED], []])
  })

  test.each(['', '__'])(
    'where case is ignored, 8988001F.json after %j is not in its own way',
    async (used) => {
      const name = `${used}8988001F.json`
      disk.after = (step, file) => {
        if (step === 'open wx' && file.endsWith(name)) linkSync(file, file.replace('F.json', 'f.json'))
      }
      const stored = { iccid: '8988001F', profile: 'AAAA' }
      const text = JSON.stringify(used === '' ? stored : { ...stored, file: '8988001F.json', claim: 'one' })
      const key = used === '' ? '8988001+' : '8988001'
      unlinkSync(path(NAME))
      expect(await createAll(directory, [{ key, text }])).toEqual([{ state: 'ours' }])
      expect([read(name), claims()]).toEqual([text, []])
    },
  )

  /** How far a call may have come that was killed, or is about to go on. */
  const LEFT: [string, () => void][] = [
    ['the claim', () => {}],
    ['the claim, and no unused file', () => unlinkSync(path(NAME))],
    ['an empty used name', () => writeFileSync(path(USED), '')],
    ['a part of the used file', () => writeFileSync(path(USED), textOf('dead').slice(0, 20))],
    ['the complete used file', () => writeFileSync(path(USED), textOf('dead'))],
  ]

  test.each(LEFT)('a killed call left %s: nobody else wins, and anybody finishes it', async (_, leave) => {
    leftClaim('8988001', textOf('dead'))
    leave()
    expect(await states('late')).toEqual(['others'])
    expect(openClaims(directory)).toEqual(['8988001'])
    for (const _ of ['once', 'and once more']) settle(directory, '8988001')
    expect([read(USED), namesIn(directory), claims()]).toEqual([textOf('dead'), [USED], []])
  })
})

test.each([USED, '__8988001F.json'])('what is there as %s stays as it is', async (name) => {
  writeFileSync(path(name), 'theirs')
  expect(await states('late')).toEqual(['others'])
  expect([read(name), namesIn(directory)]).toEqual(['theirs', [NAME, name]])
})

test('on FUSE, what looks torn was completed by another client, and known to this one a second later', async () => {
  onDisk(FUSE)
  writeFileSync(path(USED), '')
  disk.before = (step, file) => {
    if (step !== 'look' || !file.endsWith(USED)) return
    disk.before = () => {}
    throw systemError('ENOENT')
  }
  waits.meanwhile = () => writeFileSync(path(USED), textOf('theirs'))
  expect(await states('late')).toEqual(['others'])
  expect(read(USED)).toBe(textOf('theirs'))
})

test('a claim that comes when the file is in its place does not get into the next one', async () => {
  onDisk(EXT4)
  const next = { key: '8988002', text: JSON.stringify({ iccid: '8988002', file: '8988002.json' }) }
  once('after', 'rename', USED, () => leftClaim('8988001', textOf('late')))
  await createAll(directory, [claim('one'), next])
  expect([read(USED), read('__8988002.json'), claims()]).toEqual([textOf('one'), next.text, []])
})

test('a claim that was left empty is in nobody’s way', async () => {
  mkdirSync(path(`${CLAIMS}/8988001`), { recursive: true })
  expect(await states('one')).toEqual(['ours'])
})

describe('a disk that fails', () => {
  test('while the texts are written: nothing is created, and nothing stays', async () => {
    disk.before = (step, file) => {
      if (step === 'open wx' && file.includes(CLAIMS)) fails('ENOSPC')
    }
    await expect(states('one')).rejects.toThrow('ENOSPC')
    expect([namesIn(directory), claims()]).toEqual([[NAME], []])
  })

  test('after the decision, which it has made: the claim is the call’s', async () => {
    disk.after = (step, to) => to === path(`${CLAIMS}/8988001`) && step === 'rename' && fails()
    expect(await states('one')).toEqual(['ours'])
    expect(read(USED)).toBe(textOf('one'))
  })

  test('after the decision, and another call has done the rest: the claim is the call’s', async () => {
    once('after', 'rename', join(CLAIMS, '8988001'), () => {
      settle(directory, '8988001')
      fails()
    })
    expect(await states('one')).toEqual(['ours'])
    expect([read(USED), claims()]).toEqual([textOf('one'), []])
  })

  test.each([EXT4, UNKNOWN])('to flush what a killed call has written: its claim stays (%i)', (type) => {
    onDisk(type)
    leftClaim('8988001', textOf('dead'))
    writeFileSync(path(USED), textOf('dead'))
    disk.before = (step, file) => step === 'open r' && file === path(USED) && fails()
    expect(() => settle(directory, '8988001')).toThrow('EIO')
    expect(openClaims(directory)).toEqual(['8988001'])
  })

  test('to flush what is in its place: nobody knows whether it lasts, and the claim keeps the text', async () => {
    onDisk(UNKNOWN)
    once('after', 'rename', join(CLAIMS, '8988001'), () => {
      disk.before = (step, file) => step === 'open r' && file === directory && fails()
    })
    expect(await states('one', 'two')).toEqual(['unknown', 'others'])
    expect(openClaims(directory)).toEqual(['8988001'])
  })
})

test('what only claims create is read when it is complete, and finished before', () => {
  const key = `${'0'.repeat(36)}.1`
  const place = join(directory, '.moves', '0'.repeat(36))
  const text = () => readDecided(directory, key)
  // The journal of a move may be closed by now.
  leftClaim(key, '{"fate":"back"}')
  expect([text(), openClaims(directory)]).toEqual([undefined, []])
  mkdirSync(place, { recursive: true })
  expect(text()).toBeUndefined()
  leftClaim(key, '{"fate":"back"}')
  writeFileSync(join(place, '1'), '{"fate"')
  expect([text(), openClaims(directory)]).toEqual(['{"fate":"back"}', []])
})

test('the journal of a move is closed while another call finds its next entry: the entry is not this one’s', async () => {
  onDisk(UNKNOWN)
  const place = path(`.moves/${'0'.repeat(36)}`)
  mkdirSync(place, { recursive: true })
  once('before', 'open wx', '/1', () => {
    rmSync(place, { recursive: true })
    fails('EEXIST')
  })
  expect(await createAll(directory, [{ key: `${'0'.repeat(36)}.1`, text: '{}' }])).toEqual([
    { state: 'others' },
  ])
})

describe('a profile that comes', () => {
  const NEXT = '8988001.2'
  const isClaimed = () => leftClaim(NEXT, textOf('theirs'))
  const come = () => createAll(directory, [{ key: `${NEXT}+`, text: STORED }])

  test('and is being claimed has come before', async () => {
    isClaimed()
    expect(await come()).toEqual([{ state: 'others' }])
    expect(namesIn(directory)).toEqual([NAME])
  })

  test('and becomes used while its names are looked for has come before', async () => {
    isClaimed()
    once('before', 'look', join(CLAIMS, NEXT), () => settle(directory, NEXT))
    expect(await come()).toEqual([{ state: 'others' }])
  })

  test('and is claimed meanwhile does not stay beside that', async () => {
    onDisk(UNKNOWN)
    let text = 'nothing is removed'
    once('before', 'open wx', `${NEXT}.json`, () => {
      isClaimed()
      once('before', 'unlink', `${NEXT}.json`, () => {
        text = read(`${NEXT}.json`)
      })
    })
    await come()
    // A tool that only renames would print the text.
    expect([namesIn(directory), text]).toEqual([[NAME], ''])
  })

  test('and is claimed right before it gets there goes again', async () => {
    onDisk(EXT4)
    once('before', 'rename', `${NEXT}.json`, isClaimed)
    await come()
    expect(namesIn(directory)).toEqual([NAME])
  })
})

test('what another tool has written there, with a byte order mark, is not torn', () => {
  onDisk(FAT)
  leftClaim('8988001', textOf('dead'))
  writeFileSync(path(USED), `\ufeff${STORED}`)
  settle(directory, '8988001')
  expect([read(USED), claims()]).toEqual([`\ufeff${STORED}`, []])
})

test.each([
  ['NULs', '\0'.repeat(300)],
  ['a part of it', textOf('dead').slice(0, 40)],
  ['what was there before', `${'x'.repeat(400)}`],
])('a power cut has left %s under the used name: it is completed from the claim', (_, torn) => {
  onDisk(FAT)
  leftClaim('8988001', textOf('dead'))
  unlinkSync(path(NAME))
  writeFileSync(path(USED), torn)
  settle(directory, '8988001')
  expect([read(USED), claims()]).toEqual([textOf('dead'), []])
})
