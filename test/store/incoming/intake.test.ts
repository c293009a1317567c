import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import { Intake } from '../../../src/store/incoming/add.ts'
import { INCOMING } from '../../../src/store/incoming/answers.ts'
import { openTarget } from '../../../src/store/incoming/target-directory.ts'
import { temporaryDirectory } from '../../support/directory.ts'
import { disk, fail } from '../../support/watched-fs.ts'

vi.mock('node:fs', async () => (await import('../../support/watched-fs.ts')).watchedFs)

/** What the file system says of its space. */
const has = (freeBytes: number) => {
  disk.space = { bavail: freeBytes, blocks: 1, bsize: 1, ffree: 1e9, files: 1e9, type: 0 }
}
beforeEach(() => has(1e12))

const refuse = (ending: RegExp) => fail(/^(rename|open (wx|r\+))$/, ending)

const profile = (n: number) => ({ iccid: `8988${n}`, profile: 'AAAA' })

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

test('without space for a batch, none is reserved', async () => {
  const { directory, intake } = await opened()
  has(2 * 16 * 1024)
  intake.release(await intake.reserve(2))
  has(2 * 16 * 1024 - 1)
  await expect(intake.reserve(2)).rejects.toThrow('not enough disk space for 2 more profiles')
  expect(readdirSync(join(directory, INCOMING))).toEqual([])
})

test('an answer that can’t be read is kept, if the disk takes it', async () => {
  const { intake, said } = await opened()
  await intake.keepUnread(Buffer.from('one'), 2)
  const [, path = ''] = /^warning: the answer is put aside in (.*)$/.exec(said[0] ?? '') ?? []
  expect(readFileSync(path, 'utf8')).toBe('one')
  refuse(/\.damaged$/)
  await intake.keepUnread(Buffer.from('two'), 3)
  expect(said[1]).toMatch(/^warning: the answer can't be put aside: the disk reports an input\/output error/)
  expect(intake.tally.refused).toBe(5)
})
