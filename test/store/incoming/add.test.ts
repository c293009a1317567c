import { chmodSync, chownSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { FreeList } from '../../../src/store/free-list.ts'
import { namesIn, temporaryDirectory } from '../../support/directory.ts'
import { addTo, jsonIn, profile, several } from '../../support/store.ts'

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
