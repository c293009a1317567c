import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { takeHome } from '../../src/move/back.ts'
import { moveProfiles } from '../../src/move/move.ts'
import { claimAll, usedText } from '../../src/store/claim.ts'
import { directoryOf, someProfiles, temporaryDirectory, unusedIn, usedIn } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { disk } from '../support/watched-fs.ts'

vi.mock('node:fs', async () => (await import('../support/watched-fs.ts')).watchedFs)

/** What happens before a file is opened to be read; it may throw. */
const beforeRead = (action: (path: string) => void) => {
  disk.before = (call, path) => call === 'open r' && action(path)
}
const asUsual = () => beforeRead(() => {})

const pair = (count = 5) =>
  [directoryOf(someProfiles(count)), join(temporaryDirectory(), 'profiles')] as const
const file = (n: number, number = 1) => `${iccid(n)}${number === 1 ? '' : `.${number}`}.json`
const files = (...numbers: number[]) => numbers.map((n) => file(n))
const used = (...names: string[]) => names.map((name) => `__${name}`)

interface Call {
  readonly count?: number
  readonly receipt?: string
  readonly stop?: AbortController
  readonly meanwhile?: (text: string) => void
}

/** Runs a move. @returns what it said */
async function move(source: string, target: string, call: Call = {}): Promise<string[]> {
  const { count = 2, receipt, stop = new AbortController(), meanwhile = () => {} } = call
  const said: string[] = []
  const warn = (text: string) => {
    said.push(text)
    meanwhile(text)
  }
  const messages = { warn, tell: (_: number, text: string) => warn(text) }
  const progress = { follow: () => {} }
  await moveProfiles({ source, target, count, receipt, stop: stop.signal, messages, progress })
  return said
}

async function back(source: string, target: string): Promise<string[]> {
  const said: string[] = []
  const say = (text: string) => void said.push(text)
  await takeHome({ source, target, messages: { warn: say, tell: (_, text) => say(text) } })
  return said
}

/** A move of two that is interrupted when its journal has so many entries: the plan, and whose the profiles are. */
async function interrupt(source: string, target: string, entries: 1 | 2): Promise<void> {
  const stop = new AbortController()
  beforeRead((path) => {
    if (basename(dirname(dirname(path))) === '.moves' && basename(path) === `${entries}` && existsSync(path))
      stop.abort()
  })
  await expect(move(source, target, { stop })).rejects.toMatchObject({ facts: { kind: 'interrupted-move' } })
  asUsual()
}

const FINISHED = (target: string) =>
  `a move to ${target} was interrupted: it is finished, and nothing else is moved`

test('a move takes the lowest; the same command moves the next ones', async () => {
  const [source, target] = pair()
  for (const left of [3, 1])
    expect((await move(source, target)).at(-1)).toMatch(
      RegExp(`^2 profiles moved to .*; ${left} unused left in`),
    )
  expect([unusedIn(source), unusedIn(target)]).toEqual([files(5), files(1, 2, 3, 4)])
  expect([usedIn(source), usedIn(target)]).toEqual([used(...files(1, 2, 3, 4)), []])
  await expect(move(source, target)).rejects.toMatchObject({ facts: { kind: 'too-few-to-move' } })
  expect([unusedIn(source), unusedIn(target)]).toEqual([files(5), files(1, 2, 3, 4)])
})

describe.each([1, 2] as const)('a move that was interrupted after entry %i of its journal', (entries) => {
  test('is finished by the same command, which moves nothing else', async () => {
    const [source, target] = pair()
    await interrupt(source, target, entries)
    expect(unusedIn(target)).toEqual([])
    const said = await move(source, target)
    expect([said[0], said.at(-1)]).toEqual([FINISHED(target), expect.stringMatching(/^2 profiles moved/)])
    expect([unusedIn(source), unusedIn(target)]).toEqual([files(3, 4, 5), files(1, 2)])
    expect(readdirSync(join(source, '.moves')).filter((name) => name.length === 36)).toEqual([])
  })

  test('is taken back as long as it is not decided that the target gets them', async () => {
    const [source, target] = pair()
    await interrupt(source, target, entries)
    const taken = back(source, target)
    if (entries === 2) await expect(taken).rejects.toMatchObject({ facts: { kind: 'not-taken-back' } })
    else await taken.catch(() => {})
    await move(source, target)
    expect([...unusedIn(source), ...unusedIn(target)].map((name) => name.slice(0, 20)).sort()).toEqual(
      [1, 2, 3, 4, 5].map((n) => iccid(n)),
    )
    expect(unusedIn(target)).toHaveLength(2)
  })
})

test('what is claimed and taken back comes under its next number, and is moved and used as any other', async () => {
  const [source, target] = pair(2)
  const stop = new AbortController()
  beforeRead((path) => {
    // The plan is written, and the last profile of it is about to be claimed.
    if (path === join(source, file(2)) && existsSync(join(source, '.moves'))) stop.abort()
  })
  await expect(move(source, target, { stop })).rejects.toMatchObject({ facts: { kind: 'interrupted-move' } })
  asUsual()
  expect(usedIn(source)).toEqual(used(...files(1, 2)))
  expect((await back(source, target)).at(-1)).toMatch(/^2 profiles taken back to /)
  expect(unusedIn(source)).toEqual([file(1, 2), file(2, 2)])
  await expect(back(source, target)).rejects.toMatchObject({ facts: { kind: 'no-move' } })
  await move(source, target, { count: 1 })
  expect([unusedIn(source), unusedIn(target)]).toEqual([[file(2, 2)], files(1)])
})

test('a lot goes away, comes home, and goes away again; what was used there stays used', async () => {
  const [source, target] = pair(3)
  await move(source, target, { count: 3 })
  const stored = readFileSync(join(target, file(3)), 'utf8')
  await claimAll(target, [usedText({ name: file(3), stored })])
  await move(target, source)
  expect([unusedIn(source), unusedIn(target)]).toEqual([[file(1, 2), file(2, 2)], []])
  await move(source, target)
  expect([unusedIn(source), unusedIn(target)]).toEqual([[], [file(1, 2), file(2, 2)]])
  await move(target, source)
  expect([unusedIn(source), unusedIn(target)]).toEqual([[file(1, 3), file(2, 3)], []])
  expect(usedIn(target)).toEqual(used(file(1, 2), file(1), file(2, 2), file(2), file(3)))
})

test('others claim what is planned: others are moved instead, or all come back', async () => {
  const [source, target] = pair(4)
  const takenBy = (n: number) => {
    const stored = readFileSync(join(source, file(n)), 'utf8')
    beforeRead((path) => {
      if (!path.includes('.moves') || usedIn(source).length > 0) return
      asUsual()
      void claimAll(source, [usedText({ name: file(n), stored })])
    })
  }
  takenBy(1)
  await move(source, target)
  expect(unusedIn(target).map((name) => name.slice(0, 20))).toHaveLength(2)
  expect(new Set([...unusedIn(source), ...unusedIn(target)]).size).toBe(3)
})

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
  const lines = readFileSync(receipt, 'utf8')
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
  beforeRead((path) => {
    if (path === join(source, `__${file(1)}`)) throw Object.assign(new Error('EIO'), { code: 'EIO' })
  })
  await move(source, target).catch(() => {})
  asUsual()
  await move(source, target)
  expect(unusedIn(target)).toEqual(expect.arrayContaining(files(1, 2)))
})

test('an interruption after the last profile is said to be too late', async () => {
  const [source, target] = pair(3)
  const stop = new AbortController()
  const said = await move(source, target, { stop, meanwhile: (text) => text === '2 moved' && stop.abort() })
  expect(unusedIn(target)).toHaveLength(2)
  expect(said.at(-2)).toMatch(/^the interruption came too late: the move is complete/)
  expect(said.at(-1)).toMatch(/^2 profiles moved to /)
})
