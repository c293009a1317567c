import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { claimAll, comeBack, usedText } from '../../src/store/claim.ts'
import {
  append,
  beginMove,
  claimedBy,
  closeMove,
  countMoved,
  hasMovesOut,
  isMarked,
  journalOf,
  type Move,
  movesInto,
  openMoves,
  store,
  tombstoneText,
  unmark,
} from '../../src/store/moves.ts'
import { namesIn, temporaryDirectory } from '../support/directory.ts'

const profile = (n: number) => ({
  name: `898${n}.json`,
  stored: JSON.stringify({ iccid: `898${n}`, profile: 'AAAA' }),
})
const plan = (to: string, ...numbers: number[]) => ({
  to,
  count: 2,
  names: numbers.map((n) => profile(n).name),
})

let [source, target] = ['', '']
beforeEach(() => {
  source = temporaryDirectory()
  target = temporaryDirectory()
  for (const n of [1, 2, 3]) writeFileSync(join(source, profile(n).name), profile(n).stored)
})

const claim = (move: Move, n: number) => claimAll(move.source, [tombstoneText(move, target, profile(n))])
const give = async (move: Move, n: number, to = target) => {
  const tombstone = claimedBy(move, profile(n).name)
  return (await store(to, move, false, tombstone === undefined ? [] : [tombstone])).map(({ state }) => state)
}

describe('the journal', () => {
  test('is a chain of plans with a fate at its end; each entry is written once', async () => {
    const move = beginMove(source, target)
    expect([isMarked(target, move), [...movesInto(target)], openMoves(source)]).toEqual([true, [move.id], []])
    const empty = journalOf(move)
    await append(move, empty, plan(target, 1, 2))
    // Another call of the same command was slower.
    await append(move, empty, plan('/other', 3))
    expect(journalOf(move)).toEqual({
      plan: plan(target, 1, 2),
      fate: undefined,
      next: 2,
      came: new Set(),
      isEarlier: false,
    })
    const planned = journalOf(move)
    await append(move, planned, plan(target, 2, 3))
    await append(move, journalOf(move), { fate: 'given' })
    await append(move, planned, { fate: 'back' })
    expect(journalOf(move)).toEqual({
      plan: plan(target, 1, 2, 3),
      fate: 'given',
      next: 4,
      came: new Set(),
      isEarlier: false,
    })
    expect(openMoves(source)).toEqual([move])
  })

  test('is closed in one step, also twice; what it had decided can’t be decided once more', async () => {
    const move = beginMove(source, target)
    await append(move, journalOf(move), plan(target, 1))
    const late = journalOf(move)
    for (const _ of ['once', 'by another call']) closeMove(move)
    expect([readdirSync(join(source, '.moves')), openMoves(source), isMarked(target, move)]).toEqual([
      [`~${move.id}`],
      [],
      true,
    ])
    await append(move, late, { fate: 'back' }).catch(() => {})
    expect([journalOf(move).plan, journalOf(move).fate]).toEqual([undefined, undefined])
  })

  test('an entry that a killed call has decided counts', async () => {
    const move = beginMove(source, target)
    const place = join(source, '.claims', `${move.id}.1`)
    mkdirSync(place, { recursive: true })
    writeFileSync(join(place, 'nonce'), JSON.stringify(plan(target, 1)))
    expect(journalOf(move).plan).toEqual(plan(target, 1))
    expect(existsSync(place)).toBe(false)
  })

  test('a move without a plan is forgotten; one from a directory to itself is none', () => {
    unmark(target, beginMove(source, target))
    expect([movesInto(target).size, hasMovesOut(source)]).toEqual([0, false])
    expect(() => beginMove(source, join(source, '.'))).toThrow()
    expect([movesInto(source).size, hasMovesOut(source)]).toEqual([0, false])
  })

  test.each([
    [undefined, undefined],
    ['file', 'given'],
    ['directory', 'back'],
  ])('of version 1.1: whose its profiles are is a %s', (whose, fate) => {
    const id = '1'.repeat(36)
    const place = join(source, '.moves', id)
    mkdirSync(place, { recursive: true })
    for (const n of [1, 2])
      writeFileSync(
        join(place, `${profile(n).name}~${n}`),
        tombstoneText({ id, source }, '/there', profile(n)),
      )
    if (whose === 'file') writeFileSync(`${place}.whose`, '')
    if (whose === 'directory') mkdirSync(`${place}.whose`)
    const journal = journalOf({ id, source })
    expect(journal).toMatchObject({ plan: { ...plan('/there', 1, 2), count: null }, fate, isEarlier: true })
    // From then on, it is continued as any other.
    expect(journal.next).toBe(1)
  })
})

describe('what a move gives', () => {
  test('is stored once, says by which move it came, and is not stored again after it was used there', async () => {
    const move = beginMove(source, target)
    await claim(move, 1)
    expect(claimedBy(move, profile(1).name)).toMatchObject({
      to: target,
      profile: JSON.parse(profile(1).stored),
    })
    expect(claimedBy({ ...move, id: '2'.repeat(36) }, profile(1).name)).toBeUndefined()
    expect([await give(move, 1), await give(move, 1)]).toEqual([['ours'], ['others']])
    const stored = readFileSync(join(target, '8981.json'), 'utf8')
    expect(JSON.parse(stored)).toEqual({ ...JSON.parse(profile(1).stored), from: move.id })
    await claimAll(target, [usedText({ name: '8981.json', stored })])
    expect([await give(move, 1), namesIn(target)]).toEqual([['others'], ['__8981.json']])
  })

  test('comes home under the next number; the first move, if it goes on, stores nothing more', async () => {
    const there = beginMove(source, target)
    await claim(there, 1)
    await give(there, 1)
    const home = beginMove(target, source)
    const stored = readFileSync(join(target, '8981.json'), 'utf8')
    await claimAll(target, [tombstoneText(home, source, { name: '8981.json', stored })])
    expect([await give(home, 1, source), await give(home, 1, source)]).toEqual([['ours'], ['others']])
    expect([await give(there, 1), namesIn(target), namesIn(source)]).toEqual([
      ['others'],
      ['__8981.json'],
      ['8981.2.json', '8982.json', '8983.json', '__8981.json'],
    ])
    // And once more to the same target.
    const again = beginMove(source, target)
    const second = { name: '8981.2.json', stored: readFileSync(join(source, '8981.2.json'), 'utf8') }
    await claimAll(source, [tombstoneText(again, target, second)])
    const tombstone = claimedBy(again, second.name)
    await store(target, again, false, tombstone === undefined ? [] : [tombstone])
    expect(namesIn(target)).toEqual(['8981.2.json', '__8981.json'])
  })

  test('is in transit until the journal is closed, and not what came back', async () => {
    const move = beginMove(source, target)
    await append(move, journalOf(move), plan(target, 1, 2))
    for (const n of [1, 2]) await claim(move, n)
    expect(countMoved(source)).toEqual({
      moved: [],
      inTransit: new Map([1, 2].map((n) => [profile(n).name, target])),
    })
    await comeBack(source, [profile(1)])
    closeMove(move)
    expect(countMoved(source)).toEqual({ moved: ['8982'], inTransit: new Map() })
  })
})
