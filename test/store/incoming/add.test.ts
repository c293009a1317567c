import { chmodSync, chownSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { FreeList } from '../../../src/store/free-list.ts'
import { INCOMING } from '../../../src/store/incoming/answers.ts'
import { namesIn, temporaryDirectory } from '../../support/directory.ts'
import { addTo, jsonIn, profile, several } from '../../support/store.ts'

/** Whether a name is that of a profile that has none in the directory yet. */
const isOnItsWay = (name: string) => /\.\d+$/.test(name)

describe('add', () => {
  test.skipIf(process.getuid?.() !== 0)(
    'files get the group and the permissions of the directory',
    async () => {
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
    },
  )

  test('leaves existing profiles alone, used or not', async () => {
    const directory = temporaryDirectory()
    const unused = { iccid: '89880', profile: 'BBBB' }
    writeFileSync(join(directory, '89880.json'), JSON.stringify(unused))
    writeFileSync(join(directory, '__89881.json'), 'used')
    const { stored, known } = await addTo(directory, several(3))
    expect([stored, known.sort()]).toEqual([['89882'], ['89880', '89881']])
    expect(namesIn(join(directory, INCOMING)).filter(isOnItsWay)).toEqual([])
    expect(jsonIn(directory, '89880.json')).toEqual(unused)
    expect(existsSync(join(directory, '89881.json'))).toBe(false)
  })

  test.each(['', '{"iccid":"8988'])(
    'a torn file left by a crash does not count as a profile: %j',
    async (text) => {
      const directory = temporaryDirectory()
      writeFileSync(join(directory, '89881.json'), text)
      expect(await addTo(directory, several(2))).toEqual({ stored: ['89880', '89881'], known: [] })
      expect(jsonIn(directory, '89881.json')).toEqual(profile(1))
    },
  )

  test('what has the name of a profile and can’t be read is left alone', async () => {
    const directory = temporaryDirectory()
    mkdirSync(join(directory, '89881.json'))
    expect(await addTo(directory, several(2))).toEqual({ stored: ['89880'], known: ['89881'] })
  })

  test('stores a profile once whose ICCID comes with a filler first, and without one later', async () => {
    const directory = temporaryDirectory()
    const both = ['8988001F', '8988001'].map((iccid) => ({ iccid, profile: 'AAAA' }))
    expect(await addTo(directory, both)).toEqual({ stored: ['8988001F'], known: ['8988001'] })
    expect(namesIn(directory)).toEqual(['8988001F.json'])
  })

  test.each(['F', 'f'])('profiles with a filler %s in their file names already exist', async (filler) => {
    const directory = temporaryDirectory()
    const names = [`8988000${filler}.json`, `__8988001${filler}.json`]
    for (const [n, name] of names.entries())
      writeFileSync(join(directory, name), JSON.stringify({ iccid: `898800${n}`, profile: 'AAAA' }))
    const again = ['8988000', '8988001'].map((iccid) => ({ iccid, profile: 'AAAA' }))
    expect(await addTo(directory, again)).toEqual({ stored: [], known: ['8988000', '8988001'] })
    expect(namesIn(directory)).toEqual(names)
  })

  test('two at the same time store each profile once', async () => {
    const directory = temporaryDirectory()
    const results = await Promise.all([addTo(directory, several(150)), addTo(directory, several(150))])
    expect(results.flatMap(({ stored }) => stored).sort()).toEqual(
      several(150)
        .map(({ iccid }) => iccid)
        .sort(),
    )
    expect(namesIn(directory)).toHaveLength(150)
  })
})
