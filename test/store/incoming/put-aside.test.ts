/** Answers are put aside on disks that fail or fill up, also disks that need new space to write over a reserve. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { adviceOn } from '../../../src/advice/advice.ts'
import { formatAnswer, INCOMING, putAside } from '../../../src/store/incoming/answers.ts'
import { reserve } from '../../../src/store/incoming/free-space.ts'
import { openTarget } from '../../../src/store/incoming/target-directory.ts'
import type { StoredProfile } from '../../../src/store/profile-file.ts'
import { temporaryDirectory } from '../../support/directory.ts'

/** The errors of the next writes into open files, undefined for none. A failed write writes a part. */
const disk = vi.hoisted(() => ({
  writes: [] as (string | undefined)[],
  pauses: 0,
}))

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const failing = (code: string | undefined) => {
    if (code !== undefined) throw Object.assign(new Error(code), { code })
  }
  const writeFileSync: typeof fs.writeFileSync = (file, content, options) => {
    const error = disk.writes.shift()
    fs.writeFileSync(file, error === undefined ? content : String(content).slice(0, 10), options)
    failing(error)
  }
  return { ...fs, writeFileSync, default: { ...fs, writeFileSync } }
})

vi.mock('node:timers/promises', () => ({
  setTimeout: async () => {
    if (++disk.pauses > 100) throw new Error('it waits without end')
  },
}))

afterEach(() => {
  Object.assign(disk, { writes: [], pauses: 0 })
})

const profile = 'A'.repeat(684)
const ANSWER_OF_TWO: StoredProfile[] = ['89881', '89882'].map((iccid) => ({ iccid, profile }))

/** Puts an answer aside over its reserve. What is then in the directory of answers is returned, too. */
async function putAsideOn(errors: Partial<typeof disk>) {
  const target = await openTarget(temporaryDirectory())
  const incoming = join(target.directory, INCOMING)
  const aside = await reserve(target, ANSWER_OF_TWO.length)
  Object.assign(disk, errors)
  const error = await putAside(target, aside, ANSWER_OF_TWO).then(
    () => undefined,
    ({ code }) => code,
  )
  const texts = readdirSync(incoming).map((name) => readFileSync(join(incoming, name, 'answer'), 'utf8'))
  return { error, texts, pauses: disk.pauses }
}

const WHOLE = [formatAnswer(ANSWER_OF_TWO)]
const times = (count: number, error: string) => Array<string>(count).fill(error)

test.each(['EIO', 'ENOSPC'])(
  'a reserve that can’t be written over (%s) is removed, and the answer is written to a new file',
  async (error) => {
    expect(await putAsideOn({ writes: [error] })).toEqual({ error: undefined, texts: WHOLE, pauses: 0 })
  },
)

test.each(['ENOSPC', 'EDQUOT'])('%s: the space of the removed reserve may be there later', async (error) => {
  const actual = await putAsideOn({ writes: times(5, error) })
  expect(actual).toEqual({ error: undefined, texts: WHOLE, pauses: 4 })
})

test.each(Object.entries({ ENOSPC: 4, EDQUOT: 4, EIO: 0 }))(
  '%s: it gives up after %i pauses',
  async (error, pauses) => {
    expect(await putAsideOn({ writes: times(1000, error) })).toEqual({ error, texts: [], pauses })
  },
)

test.each([
  ['ENOSPC', /^free disk space; this batch of 2 profiles was not requested$/],
  ['EIO', /^free disk space or repair the disk; this batch of 2 profiles was not requested$/],
])('%s: no space can be reserved, and nothing of it is left', async (code, hint) => {
  const target = await openTarget(temporaryDirectory())
  disk.writes = [code]
  const seen = reserve(target, 2).catch(adviceOn)
  await expect(seen).resolves.toMatchObject({ outcome: 'disk', hint: expect.stringMatching(hint) })
  expect(readdirSync(join(target.directory, INCOMING))).toEqual([])
})
