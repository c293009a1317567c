import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { readUnused } from '../../../src/store/listing.ts'
import { namesIn, temporaryDirectory } from '../../support/directory.ts'
import { addTo, jsonIn, profile } from '../../support/store.ts'
import { hasPosix } from '../../support/system.ts'
import { disk, systemError } from '../../support/watched-fs.ts'

vi.mock('node:fs', async () => (await import('../../support/watched-fs.ts')).watchedFs)

/** A file system without hard links. */
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

describe('without hard links', () => {
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

  test('what another process uses before its file is complete counts as known, and as used', async () => {
    const directory = temporaryDirectory()
    meanwhile = (path) => {
      if (path.endsWith('89882.json'))
        writeFileSync(join(directory, '__89882.json'), JSON.stringify(profiles[1]))
    }
    expect(await addTo(directory, profiles)).toEqual({ stored: ['89881', '89883'], known: ['89882'] })
    expect([...readUnused(directory).iccids]).toEqual(['89881', '89883'])
    expect(namesIn(directory)).toEqual(['89881.json', '89883.json', '__89882.json'])
  })

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
