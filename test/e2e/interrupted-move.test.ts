import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { killMoveAt, plain } from '../../scripts/torture/move/kill.ts'
import { pairOf, pointsOfMove } from '../../scripts/torture/move/pair.ts'
import { Random } from '../../scripts/torture/random.ts'
import { Tally } from '../../scripts/torture/tally.ts'
import { whyNoTrace } from '../../scripts/torture/trace.ts'
import { Works } from '../../scripts/torture/works.ts'
import { newAnswerName } from '../../src/store/incoming/answers.ts'
import { namesIn, unusedIn, usedIn } from '../support/directory.ts'
import { draftsIn, fileOf, halfMoved, move, next, status } from '../support/moves.ts'
import { iccid } from '../support/profiles.ts'
import { failure, lines } from '../support/promises.ts'
import { softsim } from '../support/softsim.ts'

describe('an interrupted move', () => {
  test.each([undefined, 'target'] as const)(
    'is finished by the same command, and moves no more (%s)',
    async (whose) => {
      const { source, target } = await halfMoved(whose)
      expect(await status(source)).toMatchObject({ unused: 3, inTransit: 2, moved: 0, unfinished: 0 })
      expect((await next(source, '--iccid', iccid(1))).code).toBe(3)
      expect(await move(source, target, '-n', '2')).toMatchObject({ code: 0 })
      expect(namesIn(target)).toEqual([1, 2].map(fileOf))
      expect(await status(source)).toMatchObject({ unused: 3, inTransit: 0, moved: 2 })
      expect(draftsIn(source)).toEqual([])
    },
  )

  test('status says which profiles are in transit, and where to', async () => {
    const { source, target } = await halfMoved('target')
    const warning = `softsim: warning: a move to ${target} is not finished: run the same command again`
    const { stderr } = await softsim(['status', '-v', '-i', source])
    expect(lines(stderr)).toEqual([
      warning,
      ...[1, 2].map((n) => `softsim: ${fileOf(n)} is in transit to ${target}`),
    ])
    // The claim is complete, and nothing is given.
    unlinkSync(join(source, fileOf(1)))
    expect(lines((await softsim(['status', '-i', source, '--iccid', iccid(1)])).stderr)).toEqual([
      `softsim: ${iccid(1)} is in transit to ${target}`,
      warning,
    ])
  })

  test('counts: a larger number moves the rest', async () => {
    const { source, target } = await halfMoved('target')
    const { stderr } = await move(source, target, '-n', '4')
    expect(stderr).toContain('a move of 2 profiles is not finished: it comes first, and counts')
    expect(stderr).toContain('4 profiles moved')
    expect(namesIn(target)).toEqual([1, 2, 3, 4].map(fileOf))
  })

  test('another stick at the same mount point gets nothing', async () => {
    const { source, target } = await halfMoved('target')
    const stick = dirname(target)
    renameSync(stick, `${stick}-away`)
    mkdirSync(stick)
    const other = failure(
      3,
      /a move to \S+ is not finished, and \S+ is another one now/,
      /connect the disk .*/,
    )
    expect(await move(source, target, '-n', '2')).toEqual(other)
    expect(readdirSync(stick)).toEqual([])
    renameSync(`${stick}-away`, `${stick}-elsewhere`)
    // The first stick at another mount point.
    expect((await move(source, join(`${stick}-elsewhere`, 'profiles'), '-n', '2')).code).toBe(0)
  })

  test.each([undefined, 'target'] as const)(
    'without the stick, it is named, and nobody is told that nothing was moved (%s)',
    async (whose) => {
      const { source, target } = await halfMoved(whose)
      const stick = dirname(target)
      renameSync(stick, `${stick}-away`)
      const away = failure(
        3,
        RegExp(`the directory ${stick} does not exist, with 2 profiles in transit to ${target}`),
        /connect that disk, .*: it finishes the move; --back takes all of it back if nothing was given yet/,
      )
      expect(await move(source, target, '-n', '2')).toEqual(away)
      expect(existsSync(stick)).toBe(false)
      renameSync(`${stick}-away`, stick)
      expect((await move(source, target, '-n', '2')).code).toBe(0)
      renameSync(stick, `${stick}-away`)
      const done = failure(
        3,
        RegExp(`the directory ${stick} does not exist`),
        /check -o .*; nothing was moved/,
      )
      expect(await move(source, target, '-n', '2')).toEqual(done)
    },
  )

  test('--back without the stick takes home what the stick can not have', async () => {
    const { source, target } = await halfMoved()
    renameSync(target, `${target}-away`)
    expect(await move(source, target, '--back')).toMatchObject({
      code: 0,
      stderr: `softsim: 2 profiles taken back to ${source}\n`,
    })
    expect(unusedIn(source)).toHaveLength(5)
    expect(usedIn(source)).toEqual([])
    // The stick comes back.
    renameSync(`${target}-away`, target)
    expect((await move(source, target, '-n', '1')).code).toBe(0)
    expect(namesIn(target)).toEqual([fileOf(1)])
  })

  test('--back refuses what the stick may have', async () => {
    const { source, target } = await halfMoved('target')
    expect(await move(source, target, '--back')).toEqual(
      failure(3, /profiles that \S+ may have can't be taken back to \S+/, /run the move again.*/),
    )
    expect(await status(source)).toMatchObject({ inTransit: 2 })
    expect((await move(source, target, '-n', '2')).code).toBe(0)
  })

  test('a torn tombstone is nobody’s: it is named, and the rest is moved', async () => {
    const { source, target } = await halfMoved('target')
    writeFileSync(join(source, `__${fileOf(2)}`), '{"move":"')
    const run = await move(source, target, '-n', '1')
    expect(run.code).toBe(0)
    expect(run.stderr).toContain(`${fileOf(2)} is not moved: another call has begun to claim it`)
    expect(namesIn(target)).toEqual([fileOf(1)])
  })
})

test('what a killed call has put aside in the other directory is stored, and not put aside again', async () => {
  const { source, target } = await halfMoved('target')
  const { moved } = JSON.parse(readFileSync(join(source, `__${fileOf(1)}`), 'utf8'))
  unlinkSync(join(source, fileOf(1)))
  mkdirSync(join(target, '.incoming'))
  const answer = `${newAnswerName().replace(`~${process.pid}~`, '~4194999~')}.answer`
  writeFileSync(join(target, '.incoming', answer), `${JSON.stringify(moved)}\n`)
  const { code, stderr } = await move(source, target, '-n', '2')
  expect(code).toBe(0)
  // Nobody fetched.
  expect(lines(stderr)[0]).toBe('softsim: stored what an interrupted call received: 1 new profile')
  expect(await status(target)).toMatchObject({ unused: 2, received: 0 })
  expect(existsSync(join(target, '.incoming'))).toBe(false)
})

const reason = whyNoTrace()

describe.skipIf(reason !== undefined)(
  `killed in a system call${reason ? ` (skipped: ${reason})` : ''}`,
  () => {
    let works: Works
    beforeAll(async () => {
      works = await Works.open(new Random(1), inject('keys'), inject('root'))
    })
    afterAll(() => works.close())

    test('at any step: again, it finishes, and nothing is in both directories or lost', async () => {
      const template = works.newPath()
      await works.fetch(template, 8)
      const newPair = () => pairOf(works, template)
      const tally = new Tally()
      const changes = /^(rename|link|unlink|mkdir|rmdir)/
      const all = (await pointsOfMove(works, newPair())).filter(
        ({ matters, syscall }) => matters && changes.test(syscall),
      )
      for (const point of works.random.shuffled(all).slice(0, 10))
        await killMoveAt(works, tally, newPair(), plain(point))
      expect(tally.of('kills of a move on this disk')).toBeGreaterThan(5)
    })
  },
)
