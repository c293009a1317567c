/** How an answer gets stored, also while other calls store and claim, and where the disk refuses something. */
import { chmodSync, chownSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { add, nothingAdded } from '../../../src/store/incoming/add.ts'
import { INCOMING } from '../../../src/store/incoming/answers.ts'
import { reserve } from '../../../src/store/incoming/free-space.ts'
import { openTarget } from '../../../src/store/incoming/target-directory.ts'
import { readUnused } from '../../../src/store/listing.ts'
import { toFile } from '../../../src/store/profile-file.ts'
import { FreeList } from '../../../src/store/queue.ts'
import { namesIn, temporaryDirectory } from '../../support/directory.ts'
import { addTo, directoryWith, profile, several } from '../../support/store.ts'
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
