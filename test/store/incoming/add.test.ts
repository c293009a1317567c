/** How an answer gets stored, also while other calls store and claim, and where the disk refuses something. */
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { add, Intake, nothingAdded } from '../../../src/store/incoming/add.ts'
import { INCOMING } from '../../../src/store/incoming/answers.ts'
import { reserve } from '../../../src/store/incoming/free-space.ts'
import { openTarget } from '../../../src/store/incoming/target-directory.ts'
import { readUnused } from '../../../src/store/listing.ts'
import { toFile } from '../../../src/store/profile-file.ts'
import { FreeList } from '../../../src/store/queue.ts'
import { namesIn, temporaryDirectory, unusedIn } from '../../support/directory.ts'
import { addTo, directoryWith, jsonIn, profile, several } from '../../support/store.ts'
import { hasPosix } from '../../support/system.ts'
import { disk, fail, once, systemError } from '../../support/watched-fs.ts'

vi.mock('node:fs', async () => (await import('../../support/watched-fs.ts')).watchedFs)

const three = several(3)

/** A directory that has the first profile already. */
const directoryWithOne = () => directoryWith({ '89880.json': toFile(profile(0)) })

test.skipIf(process.getuid?.() !== 0)('files get the group and the rights of the directory', async () => {
  const directory = temporaryDirectory()
  chownSync(directory, 0, 1)
  chmodSync(directory, 0o2770)
  process.umask(0)
  await addTo(directory, several(2))
  for (const name of namesIn(directory)) {
    expect(statSync(join(directory, name))).toMatchObject({ gid: 1, mode: 0o100660 })
  }
  FreeList.write(directory, ['89880'])
  expect(statSync(join(directory, '.unused'))).toMatchObject({ gid: 1, mode: 0o100660 })
})

test('what has the name of a profile and can’t be read is left alone', async () => {
  const directory = temporaryDirectory()
  mkdirSync(join(directory, '89881.json'))
  expect(await addTo(directory, several(2))).toEqual({ stored: ['89880'], known: ['89881'] })
})

test('a profile that is claimed during the search for its name is not stored again', async () => {
  const directory = directoryWithOne()
  const names = ['89880.json', '__89880.json'].map((name) => join(directory, name)) as [string, string]
  disk.after = (call, path) => {
    if (call !== 'look' || !names.includes(path)) return
    disk.after = () => {}
    renameSync(...names)
  }
  expect(await addTo(directory, three)).toEqual({ stored: ['89881', '89882'], known: ['89880'] })
  expect(namesIn(directory)).toEqual(['89881.json', '89882.json', '__89880.json'])
})

test('a profile that a station uses as soon as it is stored counts as stored; what came twice counts as used', async () => {
  const directory = temporaryDirectory()
  once('after', 'rename', '89881.json', () =>
    writeFileSync(join(directory, '__89881.json'), toFile(profile(1))),
  )
  expect(await addTo(directory, three)).toEqual({ stored: ['89880', '89881', '89882'], known: [] })
  expect([...readUnused(directory).iccids]).toEqual(['89880', '89882'])
})

test('an answer that can’t be put aside is lost, and nothing of it counts as stored', async () => {
  const directory = temporaryDirectory()
  const target = await openTarget(directory)
  const answer = await reserve(target, 3)
  disk.before = (call) => {
    if (call === 'write') throw systemError('EIO')
  }
  await expect(add(target, answer, three, nothingAdded())).rejects.toMatchObject({
    facts: { kind: 'lost' },
    message: "received and can't be stored: 89880 89881 89882: the disk reports an input/output error (EIO)",
  })
  expect(namesIn(directory)).toEqual([])
})

test('the place that another call removes after the last answer need not be flushed', async () => {
  const directory = temporaryDirectory()
  once('after', 'unlink', 'answer', () => rmSync(join(directory, INCOMING), { recursive: true }))
  expect((await addTo(directory, three)).stored).toHaveLength(3)
})

test('an answer whose removal can’t be flushed is reported', async () => {
  const directory = temporaryDirectory()
  once('after', 'unlink', 'answer', () => fail(/^open/, INCOMING))
  const calling = addTo(directory, three)
  await expect(calling).rejects.toMatchObject({ facts: { kind: 'put-aside' } })
  expect(namesIn(directory)).toEqual(['89880.json', '89881.json', '89882.json'])
})

describe('without hard links', () => {
  /** What it says of a hard link, and what happens before a profile gets its file. */
  let says = 'EPERM'
  let meanwhile = (_path: string) => {}
  beforeEach(() => {
    says = 'EPERM'
    meanwhile = () => {}
    disk.before = (call, path) => {
      if (call === 'link') throw systemError(existsSync(path) ? 'EEXIST' : says)
      if (call === 'open wx') meanwhile(path)
    }
  })

  const profiles = [1, 2, 3].map(profile)
  const iccids = profiles.map(({ iccid }) => iccid)

  const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EINVAL', 'EMLINK']
  test.each(NO_LINKS)('(%s) each profile gets its file, and no other file is left', async (code) => {
    says = code
    const directory = temporaryDirectory()
    expect(await addTo(directory, profiles)).toEqual({ stored: iccids, known: [] })
    expect(namesIn(directory)).toEqual(iccids.map((each) => `${each}.json`))
    for (const each of profiles) expect(jsonIn(directory, `${each.iccid}.json`)).toEqual(each)
    expect(readdirSync(join(directory, '.incoming'))).toEqual([])
  })

  const TORN = ['', '{"iccid":"89882","pro', '\0'.repeat(50), JSON.stringify(profiles[0])]
  test.each(TORN)('a torn file left by a crash gets its contents: %j', async (text) => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, '89882.json'), text)
    expect(await addTo(directory, profiles)).toEqual({ stored: iccids, known: [] })
    expect(readFileSync(join(directory, '89882.json'), 'utf8')).toBe(JSON.stringify(profiles[1]))
  })

  test('a profile that another fetch stores at the same moment is not overwritten', async () => {
    const directory = temporaryDirectory()
    const theirs = JSON.stringify({ iccid: '89882', profile: 'BBBB' })
    meanwhile = (path) => {
      if (path.endsWith('89882.json')) writeFileSync(path, theirs)
    }
    expect(await addTo(directory, profiles)).toEqual({ stored: ['89881', '89883'], known: ['89882'] })
    expect(readFileSync(join(directory, '89882.json'), 'utf8')).toBe(theirs)
  })

  test.each(['__89882.json', '.claims/89882/nonce'])(
    'what another process uses before its file is complete, as %s, counts as known, and as used',
    async (name) => {
      const directory = temporaryDirectory()
      meanwhile = (path) => {
        if (!path.endsWith('89882.json')) return
        mkdirSync(dirname(join(directory, name)), { recursive: true })
        writeFileSync(join(directory, name), JSON.stringify(profiles[1]))
      }
      expect(await addTo(directory, profiles)).toEqual({ stored: ['89881', '89883'], known: ['89882'] })
      expect(unusedIn(directory)).toEqual(['89881.json', '89883.json'])
    },
  )

  test('a disk that fails is reported as it says', async () => {
    meanwhile = (path) => {
      if (path.endsWith('89882.json')) throw systemError('EIO')
    }
    const adding = addTo(temporaryDirectory(), profiles)
    await expect(adding).rejects.toThrow('the disk reports an input/output error (EIO)')
  })

  test('one profile in two spellings is stored once', async () => {
    const directory = temporaryDirectory()
    const both = ['8988001F', '8988001'].map((iccid) => ({ iccid, profile: 'AAAA' }))
    expect(await addTo(directory, both)).toEqual({ stored: ['8988001F'], known: ['8988001'] })
    expect(namesIn(directory)).toEqual(['8988001F.json'])
  })

  test.skipIf(!hasPosix)('a file gets the rights of the directory', async () => {
    const directory = temporaryDirectory()
    chmodSync(directory, 0o770)
    process.umask(0)
    await addTo(directory, profiles)
    expect(statSync(join(directory, '89881.json')).mode & 0o777).toBe(0o660)
  })
})

describe('what comes in', () => {
  /** What the file system says of its space. */
  const has = (freeBytes: number) => {
    disk.space = { bavail: freeBytes, blocks: 1, bsize: 1, ffree: 1e9, files: 1e9, type: 0 }
  }
  beforeEach(() => has(1e12))

  const refuse = (ending: RegExp) => fail(/^(rename|open (wx|r\+))$/, ending)

  async function opened() {
    const directory = temporaryDirectory()
    const said: string[] = []
    const target = await openTarget(directory)
    const intake = new Intake(target, {
      warn: (text) => void said.push(`warning: ${text}`),
      tell: (level, text) => void said.push(`${level}: ${text}`),
    })
    const keep = async (...numbers: number[]) =>
      intake.keep(numbers.map(profile), await intake.reserve(numbers.length))
    return { directory, intake, said, keep }
  }

  test('counts what is new and what was there, and names each with -vv', async () => {
    const { directory, intake, said, keep } = await opened()
    expect([await keep(1, 2), await keep(2, 3), await keep(3)]).toEqual([2, 1, 0])
    expect(intake.tally).toEqual({ stored: 3, known: 2, putAside: 0, lost: 0, refused: 0 })
    expect(said.slice(0, 4)).toEqual([
      '2: 89881 is stored',
      '2: 89882 is stored',
      '2: 89883 is stored',
      `2: 89882 is already in ${directory}`,
    ])
  })

  test('counts what is put aside and what is lost, and warns of each failure', async () => {
    const { intake, said, keep } = await opened()
    refuse(/8988[24]\.json$/)
    await expect(keep(1, 2)).rejects.toThrow("can't store profiles")
    await expect(keep(1, 3, 4)).rejects.toThrow("can't store profiles")
    for (const n of [5, 6]) {
      const reserve = await intake.reserve(1)
      refuse(/answer$/)
      const keeping = intake.keep([profile(n)], reserve)
      await expect(keeping).rejects.toThrow(`received and can't be stored: 8988${n}`)
      disk.before = () => {}
    }
    expect(intake.tally).toEqual({ stored: 2, known: 1, putAside: 2, lost: 2, refused: 0 })
    expect(said.map((each) => each.slice(0, 30))).toEqual([
      ...Array(2).fill("warning: can't store profiles "),
      ...Array(2).fill("warning: received and can't be"),
    ])
  })

  test('an answer that can’t be read is kept, if the disk takes it', async () => {
    const { intake, said } = await opened()
    await intake.keepUnread(Buffer.from('one'), 2)
    const [, path = ''] = /^warning: the answer is put aside in (.*)$/.exec(said[0] ?? '') ?? []
    expect(readFileSync(path, 'utf8')).toBe('one')
    refuse(/\.damaged$/)
    await intake.keepUnread(Buffer.from('two'), 3)
    expect(said[1]).toMatch(
      /^warning: the answer can't be put aside: the disk reports an input\/output error/,
    )
    expect(intake.tally.refused).toBe(5)
  })
})
