import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { newAnswerName } from '../../src/store/incoming/answers.ts'
import { namesIn, unusedIn } from '../support/directory.ts'
import { fileOf, halfMoved, journalsIn, move, next, status } from '../support/moves.ts'
import { iccid } from '../support/profiles.ts'
import { failure, lines } from '../support/promises.ts'
import { softsim } from '../support/softsim.ts'

describe('an interrupted move', () => {
  test.each([undefined, 'given'] as const)(
    'is finished by the same command, and moves no more (%s)',
    async (fate) => {
      const { source, target } = await halfMoved(fate)
      expect(await status(source)).toMatchObject({ unused: 3, inTransit: 2, moved: 0, unfinished: 0 })
      expect((await next(source, '--iccid', iccid(1))).code).toBe(3)
      expect(await move(source, target, '-n', '2')).toMatchObject({ code: 0 })
      expect(namesIn(target)).toEqual([1, 2].map(fileOf))
      expect(await status(source)).toMatchObject({ unused: 3, inTransit: 0, moved: 2 })
      expect(journalsIn(source)).toEqual([])
    },
  )

  test('status says which profiles are in transit, and where to', async () => {
    const { source, target } = await halfMoved('given')
    const warning = `softsim: warning: a move to ${target} is not finished: run the same command again`
    const { stderr } = await softsim(['status', '-v', '-i', source])
    expect(lines(stderr).sort()).toEqual([
      ...[1, 2].map((n) => `softsim: ${fileOf(n)} is in transit to ${target}`),
      warning,
    ])
    expect(lines((await softsim(['status', '-i', source, '--iccid', iccid(1)])).stderr)).toEqual([
      `softsim: ${iccid(1)} is in transit to ${target}`,
      warning,
    ])
  })

  test.each(['2', '4'])('-n %s: it says so, and moves nothing else', async (count) => {
    const { source, target } = await halfMoved('given')
    expect(lines((await move(source, target, '-n', count)).stderr)).toEqual([
      `softsim: a move to ${target} was interrupted: it is finished, and nothing else is moved`,
      `softsim: 2 profiles moved to ${target}; 3 unused left in ${source}`,
    ])
    expect(namesIn(target)).toEqual([1, 2].map(fileOf))
  })

  test('another stick at the same mount point gets nothing', async () => {
    const { source, target } = await halfMoved('given')
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

  test.each([undefined, 'given'] as const)(
    'without the stick, it is named, and nobody is told that nothing was moved (%s)',
    async (fate) => {
      const { source, target } = await halfMoved(fate)
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
    const back = [1, 2].map((n) => `${iccid(n)}.2.json`)
    expect(unusedIn(source).sort()).toEqual([...back, ...[3, 4, 5].map(fileOf)].sort())
    expect(await status(source)).toMatchObject({ unused: 5, inTransit: 0, moved: 0 })
    // The stick comes back.
    renameSync(`${target}-away`, target)
    expect((await move(source, target, '--all')).code).toBe(0)
    expect(await status(target)).toMatchObject({ unused: 5 })
  })

  test('--back refuses what the stick may have', async () => {
    const { source, target } = await halfMoved('given')
    expect(await move(source, target, '--back')).toEqual(
      failure(3, /profiles that \S+ may have can't be taken back to \S+/, /run the move again.*/),
    )
    expect(await status(source)).toMatchObject({ inTransit: 2 })
    expect((await move(source, target, '-n', '2')).code).toBe(0)
  })
})

test('what a killed call has put aside in the other directory is stored, and not put aside again', async () => {
  const { source, target } = await halfMoved('given')
  const { moved } = JSON.parse(readFileSync(join(source, `__${fileOf(1)}`), 'utf8'))
  mkdirSync(join(target, '.incoming'))
  const answer = `${newAnswerName().replace(`~${process.pid}~`, '~4194999~')}.answer`
  writeFileSync(join(target, '.incoming', answer), `${JSON.stringify(moved)}\n`)
  const { code, stderr } = await move(source, target, '-n', '2')
  expect(code).toBe(0)
  // Nobody fetched.
  expect(lines(stderr)[0]).toBe('softsim: stored what an interrupted call received: 1 new profile')
  expect(await status(target)).toMatchObject({ unused: 2, received: 0 })
  expect(readdirSync(join(target, '.incoming'))).toEqual([])
})
