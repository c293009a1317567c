import * as fs from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { moveProfiles, takeHome } from '../../src/move/move.ts'
import { recordAll } from '../../src/store/devices.ts'
import { beginMove, goneFrom, noteGone } from '../../src/store/move-journal.ts'
import { FreeList } from '../../src/store/queue.ts'
import { directoryOf, someProfiles, temporaryDirectory, unusedIn } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { disk, fail } from '../support/watched-fs.ts'

vi.mock('node:fs', async () => (await import('../support/watched-fs.ts')).watchedFs)

/** What happens before a file is opened to be read; it may throw. */
const beforeRead = (action: (path: string) => void) => {
  disk.before = (call, path) => call === 'open r' && action(path)
}
const asUsual = () => beforeRead(() => {})

const pair = (many = 5) => [directoryOf(someProfiles(many)), join(temporaryDirectory(), 'profiles')] as const
const file = (n: number, number = 1) => `${iccid(n)}${number === 1 ? '' : `.${number}`}.json`
const files = (...numbers: number[]) => numbers.map((n) => file(n))

interface Call {
  readonly count?: number
  readonly receipt?: string
  readonly stop?: AbortController
  readonly meanwhile?: (text: string) => void
}

function listener(meanwhile: (text: string) => void = () => {}) {
  const said: string[] = []
  const warn = (text: string) => {
    said.push(text)
    meanwhile(text)
  }
  return { said, messages: { warn, tell: (_: number, text: string) => warn(text) } }
}

/** Runs a move. @returns what it said */
async function move(source: string, target: string, call: Call = {}): Promise<string[]> {
  const { count = 2, receipt, stop = new AbortController(), meanwhile = () => {} } = call
  const { said, messages } = listener(meanwhile)
  const progress = { follow: () => meanwhile('begun') }
  await moveProfiles({ source, target, count, receipt, stop: stop.signal, messages, progress })
  return said
}

/** A move of two that is interrupted when its journal has so many entries: the plan, and whose the profiles are. */
async function interrupt(source: string, target: string, entries: 1 | 2): Promise<void> {
  const stop = new AbortController()
  beforeRead((path) => {
    if (
      basename(dirname(dirname(path))) === '.moves' &&
      basename(path) === `${entries}` &&
      fs.existsSync(path)
    )
      stop.abort()
  })
  await expect(move(source, target, { stop })).rejects.toMatchObject({ facts: { kind: 'interrupted-move' } })
  asUsual()
}

test('receipts: a line for each profile; what is given again says so', async () => {
  const [source, target] = pair()
  const receipt = join(temporaryDirectory(), 'receipts.jsonl')
  let isFailing = true
  const meanwhile = (text: string) => {
    if (isFailing && text === '2 moved') throw new Error('killed')
  }
  await expect(move(source, target, { receipt, meanwhile })).rejects.toThrow('killed')
  isFailing = false
  await move(source, target, { receipt })
  const lines = fs
    .readFileSync(receipt, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.map(({ iccid, again, to, file }) => [iccid, again, to, file])).toEqual(
    [false, true].flatMap((again) => [1, 2].map((n) => [iccid(n), again, target, `__${file(n)}`])),
  )
  expect(new Set(lines.map((line) => line.move)).size).toBe(1)
})

test('a claimed profile that can’t be read now is not forgotten: the move stays open until it is given', async () => {
  const [source, target] = pair()
  await interrupt(source, target, 2)
  fail(/^open r$/, join(source, `__${file(1)}`))
  await move(source, target).catch(() => {})
  asUsual()
  await move(source, target)
  expect(unusedIn(target)).toEqual(expect.arrayContaining(files(1, 2)))
})

test('what has left a target is noted with what had left it before', async () => {
  const [source, target] = pair(1)
  fs.mkdirSync(target)
  const { id } = await beginMove(source, target)
  for (const gone of ['1', '2']) await noteGone(target, id, [gone])
  expect([...goneFrom(target, id)]).toEqual(['1', '2'])
})

test('another call finishes and closes the move meanwhile: this one moves no others', async () => {
  const [source, target] = pair()
  await interrupt(source, target, 2)
  const moves = join(source, '.moves')
  const meanwhile = (text: string) => {
    if (text !== 'begun') return
    for (const id of fs.readdirSync(moves)) fs.renameSync(join(moves, id), join(moves, `~${id}`))
  }
  await move(source, target, { meanwhile })
  expect([unusedIn(source), unusedIn(target)]).toEqual([files(3, 4, 5), files(1, 2)])
})

test('an interruption after the last profile is said to be too late', async () => {
  const [source, target] = pair(3)
  const stop = new AbortController()
  const said = await move(source, target, { stop, meanwhile: (text) => text === '2 moved' && stop.abort() })
  expect(unusedIn(target)).toHaveLength(2)
  expect(said.at(-2)).toMatch(/^the interruption came too late: the move is complete/)
  expect(said.at(-1)).toMatch(/^2 profiles moved to /)
})

test('a file in the target that is no profile, such as an interrupted copy, does not pass for the profile', async () => {
  const [source, target] = pair(2)
  fs.mkdirSync(target)
  fs.writeFileSync(join(target, file(1)), '')
  FreeList.write(target, [iccid(1)])
  await move(source, target)
  expect(unusedIn(target)).toEqual(expect.arrayContaining([file(1, 2), file(2)]))
  // The next call reads the directory.
  expect(FreeList.open(target)).toBeUndefined()
})

test('a file in the target that can’t be read, as through a second mount of the source, is not taken for the profile', async () => {
  const [source, target] = pair(2)
  fs.mkdirSync(target)
  fs.writeFileSync(join(target, file(1)), fs.readFileSync(join(source, file(1))))
  fail(/^open r$/, join(target, file(1)))
  const message = expect.stringContaining(`${file(1)}: it can't be read`)
  await expect(move(source, target)).rejects.toMatchObject({ facts: { kind: 'unfinished-move' }, message })
  asUsual()
  await move(source, target)
  expect(unusedIn(target)).toEqual(files(1, 2))
})

test('the source through another mount, which has other numbers, is told by the mark of the move', async () => {
  const source = directoryOf(someProfiles(2))
  const target = join(temporaryDirectory(), 'mount')
  fs.symlinkSync(source, target)
  await expect(beginMove(source, target)).rejects.toMatchObject({ facts: { kind: 'same-directory' } })
  expect(fs.readdirSync(join(source, '.moves'))).toEqual([])
})

test('another disk is mounted at the target meanwhile: the move does not say that it is done', async () => {
  const [source, target] = pair(2)
  beforeRead((path) => {
    if (path !== join(source, `__${file(2)}`) || fs.existsSync(`${target}.before`)) return
    fs.renameSync(target, `${target}.before`)
    fs.mkdirSync(target)
  })
  await expect(move(source, target)).rejects.toMatchObject({ facts: { kind: 'unfinished-move' } })
  asUsual()
})

test('a profile that can’t be read, and that no plan has, stays; another one is moved', async () => {
  const [source, target] = pair()
  fail(/^open r$/, join(source, file(1)))
  await move(source, target)
  asUsual()
  expect([unusedIn(source), unusedIn(target)]).toEqual([files(1, 4, 5), files(2, 3)])
})

test('what is taken home: again, there is nothing; and another disk can be at the target then', async () => {
  const [source, target] = pair()
  await interrupt(source, target, 2)
  await expect(takeHomeFrom(source, target)).rejects.toMatchObject({ facts: { kind: 'not-taken-back' } })
  await move(source, target)
  await interrupt(source, target, 1)
  await takeHomeFrom(source, target)
  expect((await takeHomeFrom(source, target)).at(-1)).toMatch(/^nothing is in transit from /)
  fs.rmSync(target, { recursive: true })
  expect((await move(source, target)).at(-1)).toMatch(/^2 profiles moved to /)
})

async function takeHomeFrom(source: string, target: string): Promise<string[]> {
  const { said, messages } = listener()
  await takeHome({ source, target, messages })
  return said
}

test('what another call has given meanwhile can’t be taken home', async () => {
  const [source, target] = pair()
  await interrupt(source, target, 1)
  const moves = join(source, '.moves')
  const [id = ''] = fs.readdirSync(moves)
  let looks = 0
  beforeRead((path) => {
    if (path === join(moves, id, '1') && ++looks === 2) fs.renameSync(join(moves, id), join(moves, `~${id}`))
  })
  await expect(takeHomeFrom(source, target)).rejects.toMatchObject({ facts: { kind: 'not-taken-back' } })
  asUsual()
})

test('of an interrupted move, others have got everything: what the same command wants is moved', async () => {
  const [source, target] = pair(3)
  await interrupt(source, target, 1)
  for (const n of [1, 2]) fs.renameSync(join(source, file(n)), join(source, `__${file(n)}`))
  const said = await move(source, target, { count: 1 })
  expect(said).toEqual(['0 profiles taken back', '1 moved', expect.stringMatching(/^1 profile moved to /)])
  expect(unusedIn(target)).toEqual(files(3))
})

test('a signal after the last claim, and before anybody decides that it is given: all can be taken home', async () => {
  const [source, target] = pair(2)
  const stop = new AbortController()
  beforeRead((path) => path === source && fs.existsSync(join(source, `__${file(2)}`)) && stop.abort())
  await expect(move(source, target, { stop })).rejects.toMatchObject({ facts: { kind: 'interrupted-move' } })
  asUsual()
  await takeHomeFrom(source, target)
  expect(unusedIn(source)).toEqual([file(1, 2), file(2, 2)])
})

/** Happens once, when the plan of a move is decided and nothing is claimed for it. */
function whenPlanned(action: () => void): void {
  beforeRead((path) => {
    if (basename(dirname(dirname(path))) !== '.moves' || basename(path) !== '1' || !fs.existsSync(path))
      return
    asUsual()
    action()
  })
}

const use = (directory: string, n: number) =>
  fs.renameSync(join(directory, file(n)), join(directory, `__${file(n)}`))

test.each([
  ['of two, another one is moved in its place', 4, 2, files(4)],
  ['of all, the rest is moved', 3, Number.POSITIVE_INFINITY, []],
])('others get one after it was planned: %s', async (_, many, count, left) => {
  const [source, target] = pair(many)
  whenPlanned(() => use(source, 1))
  await move(source, target, { count })
  expect([unusedIn(source), unusedIn(target)]).toEqual([left, files(2, 3)])
})

test('what the target had, too, and has used since it was planned, or uses as it arrives, does not come once more', async () => {
  const [source, target] = pair(3)
  fs.mkdirSync(target)
  for (const n of [1, 2]) fs.writeFileSync(join(target, file(n)), fs.readFileSync(join(source, file(n))))
  whenPlanned(() => {
    use(target, 1)
    beforeRead((path) => {
      if (path !== join(target, file(2))) return
      asUsual()
      use(target, 2)
    })
  })
  await move(source, target, { count: 3 })
  expect(unusedIn(target)).toEqual(files(3))
})

test('what others have claimed is flushed before it is given', async () => {
  const [source, target] = pair()
  await interrupt(source, target, 2)
  let isFlushed = false
  disk.before = (call, path) => {
    if (call === 'open r' && path === source) isFlushed = true
    if (basename(path) === file(1) && call === 'rename') expect(isFlushed).toBe(true)
  }
  await move(source, target)
  expect(unusedIn(target)).toEqual(files(1, 2))
})

test('what is recorded for a device since it was planned is moved: other calls of the move may have claimed it', async () => {
  const [source, target] = pair()
  await interrupt(source, target, 1)
  const text = JSON.stringify({ iccid: iccid(1), device: 'D', file: file(1) })
  await recordAll(source, [{ text, records: 0 }])
  await move(source, target)
  expect(unusedIn(target)).toEqual(files(1, 2))
})
