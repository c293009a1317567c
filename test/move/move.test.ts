import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Move, moveProfiles } from '../../src/move/move.ts'
import { identityOf, renewIdentity } from '../../src/store/identity.ts'
import { give, givenIn, ordersIn, putOrder } from '../../src/store/incoming.ts'
import { noteTarget, outgoingIn } from '../../src/store/outgoing.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { lot, messages, names, profile, put, X } from '../support/lot.ts'
import { iccid } from '../support/profiles.ts'

const TAG = '0123456789abcdef0123'

let [source, target] = ['', '']
beforeEach(() => {
  source = lot(4)
  target = join(temporaryDirectory(), 'target')
})

async function move(changes: Partial<Move> = {}) {
  const { said, ...sink } = messages()
  await moveProfiles({
    ...{ source, target, count: Number.POSITIVE_INFINITY, isBack: false, isLost: false },
    ...{ stop: new AbortController().signal, messages: sink, progress: { follow() {} } },
    ...changes,
  })
  return said
}

const home = () => move({ source: target, target: source })

/** What a call leaves that was killed when it held the first two profiles. */
async function kill(isDecided = false) {
  mkdirSync(target, { recursive: true })
  const id = `${identityOf(target)}.${TAG}`
  await putOrder(target, { id, source: identityOf(source), from: source, names: [X(1), X(2)] })
  noteTarget(source, { id, to: target })
  const items = [1, 2].map((n) => ({ name: X(n), tag: `${id}+${TAG.slice(1)}${n}` }))
  const texts = new Map(items.map(({ name }) => [name, readFileSync(join(source, name), 'utf8')]))
  for (const { name, tag } of items) renameSync(join(source, name), join(source, `.${name}~${tag}`))
  return isDecided ? give(target, id, items, texts) : undefined
}

describe('a move', () => {
  test('brings the lowest profiles as they are, and leaves nothing of them', async () => {
    const text = readFileSync(join(source, X(1)), 'utf8')
    expect(await move({ count: 2 })).toEqual([`2 profiles moved to ${target}`])
    expect([names(source), names(target)]).toEqual([
      [X(3), X(4)],
      [X(1), X(2)],
    ])
    expect(readFileSync(join(target, X(1)), 'utf8')).toBe(text)
    expect([outgoingIn(source), ordersIn(target)]).toEqual([[], []])
  })

  test('of more than are removed at once leaves nothing of them', async () => {
    source = lot(250)
    await move()
    expect([names(source), names(target).length]).toEqual([[], 250])
  })

  test('out and home is as before, again and again', async () => {
    for (let n = 0; n < 2; n++) {
      await move()
      await home()
    }
    expect([names(source), names(target)]).toEqual([[1, 2, 3, 4].map(X), []])
  })

  test('writes a receipt for each, with both identities in it', async () => {
    const receipt = join(temporaryDirectory(), 'r.jsonl')
    await move({ count: 1, receipt })
    const [line = ''] = readFileSync(receipt, 'utf8').split('\n')
    const { move: id, ...rest } = JSON.parse(line)
    expect(rest).toMatchObject({
      iccid: iccid(1),
      device: null,
      directory: source,
      to: target,
      from: identityOf(source),
    })
    expect(id).toMatch(new RegExp(`^${identityOf(target)}\\.`))
  })

  test('of a number says how many it could not move', async () => {
    put(source, 2, X(2), { device: 'D' })
    expect(await move({ count: 3 })).toEqual([
      `${X(2)} is not moved: a device has it`,
      "1 of 3 were taken by others or can't be used, and were not moved",
      `2 profiles moved to ${target}`,
    ])
  })

  test('takes all or none of what is asked for, and leaves what can not be used', async () => {
    await expect(move({ count: 5 })).rejects.toMatchObject({ outcome: 'no-profiles' })
    await expect(move({ source: lot(0) })).rejects.toThrow('no unused profile to move')
    const bad = lot(0)
    writeFileSync(join(bad, X(1)), '{')
    await expect(move({ source: bad })).rejects.toMatchObject({
      ...{ outcome: 'no-profiles', message: 'no profile was moved: taken or unusable' },
      hint: 'see softsim status',
    })
    expect([names(bad), ordersIn(target), outgoingIn(bad)]).toEqual([[X(1)], [], []])
    writeFileSync(join(source, X(1)), '{')
    put(source, 2, X(2), { device: 'D' })
    expect(await move()).toEqual([
      expect.stringContaining(`${X(1)} is not moved`),
      `${X(2)} is not moved: a device has it`,
      `2 profiles moved to ${target}`,
    ])
    expect(names(source)).toEqual([X(1), X(2)])
  })

  test('brings what killed calls have held or received, too', async () => {
    renameSync(join(source, X(1)), join(source, `.${X(1)}~${TAG}`))
    mkdirSync(join(source, '.incoming', 'abc'), { recursive: true })
    writeFileSync(join(source, '.incoming', 'abc', 'answer'), `${JSON.stringify(profile(5))}\n`)
    await move()
    expect([names(source), names(target)]).toEqual([[], [1, 2, 3, 4, 5].map(X)])
  })

  test('removes what keeps a profile of a killed call from coming back', async () => {
    const guard = join(source, '.claims', iccid(1))
    mkdirSync(guard, { recursive: true })
    utimesSync(guard, 1, 1)
    await move()
    expect(readdirSync(join(source, '.claims'))).toEqual([])
  })

  test('of many profiles hears a signal between them', async () => {
    source = lot(300)
    const stop = new AbortController()
    const follow = () => void setImmediate(() => stop.abort())
    const stopped = move({ stop: stop.signal, progress: { follow } })
    await expect(stopped).rejects.toMatchObject({ outcome: 'interrupted' })
    expect(names(target)).toEqual([])
  })

  test('gives nothing to the target if the receipts can not be written', async () => {
    const receipt = join(temporaryDirectory(), 'r.jsonl')
    const moved = move({ receipt, progress: { follow: () => rmSync(receipt) } })
    await expect(moved).rejects.toMatchObject({ outcome: 'disk' })
    expect(ordersIn(target).map(({ id }) => givenIn(target, id))).toEqual([undefined])
    expect(names(target)).toEqual([])
    expect(await move({ receipt })).toContain(
      `finished an interrupted move: 4 profiles moved to ${target}; nothing else was moved`,
    )
  })

  test('brings home what was put aside there', async () => {
    mkdirSync(target)
    put(target, 1, `${X(1)}.aside`)
    await move()
    expect(names(target)).toEqual([1, 2, 3, 4].map(X))
  })

  test('does not bring what the target has', async () => {
    mkdirSync(target)
    put(target, 1, `__${X(1)}`)
    put(target, 2, `.${X(2)}~${TAG}`)
    expect((await move()).join()).toContain('2 profiles in')
    expect(names(source)).toEqual([X(1), X(2)])
    expect(names(target)).toEqual([`.${X(2)}~${TAG}`, X(3), X(4), `__${X(1)}`].sort())
  })

  test('from a directory that is not there makes none', async () => {
    await expect(move({ source: `${source}-none` })).rejects.toMatchObject({ outcome: 'no-profiles' })
    expect(existsSync(target)).toBe(false)
  })

  test('of unused profiles needs no records of devices', async () => {
    put(source, 5, `__${X(5)}`, { device: 'D', claim: TAG })
    identityOf(source)
    expect(await move()).toEqual([`4 profiles moved to ${target}`])
  })

  test('after a signal moves nothing, and orders nothing', async () => {
    await expect(move({ stop: AbortSignal.abort() })).rejects.toMatchObject({
      ...{ outcome: 'interrupted', message: 'interrupted; nothing was moved' },
      hint: 'run the same command again',
    })
    expect([names(source).length, ordersIn(target), outgoingIn(source)]).toEqual([4, [], []])
  })

  test('says how far it is', async () => {
    const lines: string[] = []
    await move({ count: 2, progress: { follow: (line) => setImmediate(() => lines.push(line())) } })
    await new Promise((next) => setImmediate(next))
    expect(lines).toEqual(['2 of 2 profiles'])
  })

  test.each([
    ['the same directory', () => source, 'both directories are the same'],
    ['a disk that is not there', () => '/nowhere/profiles', 'directory /nowhere does not exist'],
  ])('is refused for %s', async (_, to, words) => {
    await expect(move({ target: to() })).rejects.toThrow(words)
    expect(names(source)).toHaveLength(4)
  })
})

describe('an interrupted move', () => {
  test.each([false, true])(
    'is finished by the same command, which moves nothing else (decided: %s)',
    async (isDecided) => {
      await kill(isDecided)
      expect(await move({ count: 1 })).toEqual([
        expect.stringMatching(/^finished .*2 profiles moved.*nothing else/),
      ])
      expect([names(source), names(target)]).toEqual([
        [X(3), X(4)],
        [X(1), X(2)],
      ])
      expect(await move({ count: 1 })).toEqual([`1 profile moved to ${target}`])
    },
  )

  test('of which two are left is finished with both, and the sum is said', async () => {
    await kill()
    const id = `${identityOf(target)}.${TAG.replace('0', 'f')}`
    await putOrder(target, { id, source: identityOf(source), from: source, names: [X(3)] })
    expect((await move({ count: 1 })).join()).toContain('3 profiles moved')
    expect([names(source), names(target)]).toEqual([[X(4)], [1, 2, 3].map(X)])
  })

  test('whose order can not be read is not finished, and gives nothing back', async () => {
    await kill()
    const [{ id } = { id: '' }] = ordersIn(target)
    writeFileSync(join(target, '.incoming', id, 'order'), '{')
    await expect(move()).rejects.toMatchObject({
      ...{ outcome: 'disk', message: `the order of the move in ${target} can't be read` },
      hint: 'when both disks are there, with room, run the same command again: it finishes the move',
    })
    expect(names(source).filter((name) => !name.startsWith('.'))).toEqual([X(3), X(4)])
  })

  test('is finished, and nothing else, also if its source was restored since', async () => {
    await kill()
    const [before, receipt] = [identityOf(source), join(temporaryDirectory(), 'r.jsonl')]
    renewIdentity(source)
    const finished = await move({ count: 1, receipt })
    expect(finished).toEqual([expect.stringMatching(/^finished .*2 profiles moved/)])
    expect(names(source)).toEqual([X(3), X(4)])
    // The order is from before, and so is what left by it; in the order of the ICCIDs.
    const lines = readFileSync(receipt, 'utf8').trim().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { iccid: iccid(1), from: before },
      { iccid: iccid(2), from: before },
    ])
  })

  test('is finished also if a power cut has left the unused name beside the held one', async () => {
    await kill()
    put(source, 1)
    await move()
    expect(names(target)).toEqual([X(1), X(2)])
  })

  test('is taken back as long as nothing is decided', async () => {
    await kill()
    expect((await move({ isBack: true })).join()).toContain('all of it is back')
    expect([names(source), names(target)]).toEqual([[1, 2, 3, 4].map(X), []])
    expect((await move({ isBack: true })).join()).toContain('no interrupted move')
  })

  test('is not taken back from a directory that is not there, and makes none', async () => {
    await expect(move({ isBack: true })).rejects.toMatchObject({ outcome: 'no-profiles' })
    expect(existsSync(target)).toBe(false)
  })

  test('that is decided comes, also if it is to be taken back', async () => {
    await kill(true)
    expect((await move({ isBack: true })).join()).toContain('2 profiles had come')
    expect(names(target)).toEqual([X(1), X(2)])
  })

  test('of which the target has closed the order gives back what came too late', async () => {
    await kill()
    const [{ id } = { id: '' }] = ordersIn(target)
    rmSync(join(target, '.incoming', id), { recursive: true })
    await move({ count: 1 })
    expect([names(source), names(target)]).toEqual([[X(2), X(3), X(4)], [X(1)]])
    expect(outgoingIn(source)).toEqual([])
  })

  test('of which somebody has deleted the order gives back nothing that has come', async () => {
    await kill()
    const [{ id } = { id: '' }] = ordersIn(target)
    rmSync(join(target, '.incoming', id), { recursive: true })
    for (const [isBack, name] of [
      [false, X(1)],
      [true, `__${X(1)}`],
    ] as const) {
      rmSync(join(target, X(1)), { force: true })
      put(target, 1, name)
      await expect(move({ isBack })).rejects.toMatchObject({
        ...{ outcome: 'copy', message: `the order in ${target} is gone, and its profiles are there` },
        hint: 'softsim restore for the source, with all receipts, puts aside what is in transit',
      })
    }
    expect(names(source).filter((name) => !name.startsWith('.'))).toEqual([X(3), X(4)])
  })

  test('that is finished and forgotten gives back what came too late', async () => {
    mkdirSync(join(target, '.incoming'), { recursive: true })
    renameSync(join(source, X(1)), join(source, `.${X(1)}~${identityOf(target)}.${TAG}+${TAG}`))
    await move({ count: 1 })
    expect([names(source), names(target)]).toEqual([[X(2), X(3), X(4)], [X(1)]])
  })

  test('of which nothing is left but a note of its target forgets that, too', async () => {
    mkdirSync(join(target, '.incoming'), { recursive: true })
    noteTarget(source, { id: `${identityOf(target)}.${TAG}`, to: target })
    expect(await move({ count: 1 })).toEqual([`1 profile moved to ${target}`])
    expect(outgoingIn(source)).toEqual([])
    // Foreign names are no moves.
    for (const name of ['.DS_Store', 'a', `-${TAG}.${TAG}`])
      writeFileSync(join(source, '.outgoing', name), '')
    expect(outgoingIn(source)).toEqual([])
  })

  test('to a target that is lost is taken back when the user says so', async () => {
    const given = await kill(true)
    renameSync(target, `${target}.gone`)
    await expect(move({ isLost: true, target: '/elsewhere' })).rejects.toMatchObject({
      message: `no profile of ${source} is in transit to /elsewhere`,
      hint: `interrupted moves go to ${target}`,
    })
    expect(await move({ isLost: true })).toEqual([
      `2 profiles unused again in ${source}: what ${target} has stored of them must never be used; destroy it`,
    ])
    expect(names(source)).toEqual([1, 2, 3, 4].map(X))
    // A call was late, and holds something for it.
    renameSync(join(source, X(4)), join(source, `.${X(4)}~${given?.items[0]?.tag}`))
    expect(await move({ isLost: true })).toEqual([expect.stringMatching(/^1 profile unused again/)])
    expect(names(source)).toEqual([1, 2, 3, 4].map(X))
    // Nothing is made in its place, and what was given up is not open any more.
    expect([existsSync(target), outgoingIn(source)]).toEqual([false, []])
    renameSync(`${target}.gone`, target)
    const order = join(target, '.incoming', ordersIn(target)[0]?.id ?? '')
    await expect(move()).rejects.toMatchObject({
      outcome: 'copy',
      message: `a move of 2 profiles to ${target} was given up with --lost, and ${source} has them again`,
      hint: `never use them in ${target}: delete the unused ones that ${join(order, 'given', 'list')} names, then delete ${order}`,
    })
    expect(names(target).filter((name) => !name.startsWith('.'))).toEqual([])
  })

  test('that had brought nothing when it was given up ends when its target is back', async () => {
    await kill()
    renameSync(target, `${target}.gone`)
    await move({ isLost: true })
    renameSync(`${target}.gone`, target)
    expect(await move()).toEqual([expect.stringMatching(/^finished .*: 0 profiles moved/)])
    await move()
    expect([names(source), names(target)]).toEqual([[], [1, 2, 3, 4].map(X)])
  })

  test('goes to no other disk at the same place, and is not back there', async () => {
    await kill()
    renameSync(target, `${target}.gone`)
    for (const isBack of [false, true]) {
      mkdirSync(target, { recursive: true })
      await expect(move({ isBack })).rejects.toThrow('profiles are in transit to another disk')
    }
    expect(names(source)).toContain(X(3))
  })

  test('to a disk that is lost is taken back also where its mount point is', async () => {
    await kill()
    rmSync(target, { recursive: true })
    mkdirSync(target)
    await move({ isLost: true })
    expect(names(source)).toEqual([1, 2, 3, 4].map(X))
  })

  test('does not keep others from another target', async () => {
    await kill()
    const other = join(temporaryDirectory(), 'other')
    expect(await move({ target: other, count: 1 })).toEqual([`1 profile moved to ${other}`])
    expect(names(other)).toEqual([X(3)])
    // Nor does a note of another disk there, if nothing is in transit to it.
    noteTarget(source, { id: `${TAG}.${TAG}`, to: other })
    expect(await move({ target: other, count: 1 })).toEqual([`1 profile moved to ${other}`])
  })

  test('whose source was another one meanwhile stays open, and what has come does not go back', async () => {
    await kill()
    const [second = ''] = readdirSync(source).filter((name) => name.startsWith(`.${X(2)}~`))
    writeFileSync(join(source, second), '{')
    const away = () => {
      renameSync(source, `${source}.gone`)
      mkdirSync(source)
      identityOf(source)
    }
    const stopped = move({ messages: { warn: away, tell() {} } })
    await expect(stopped).rejects.toThrow('another directory is at')
    expect([names(target), ordersIn(target).length]).toEqual([[X(1)], 1])
    rmSync(source, { recursive: true })
    renameSync(`${source}.gone`, source)
    await move()
    expect([names(source), names(target)]).toEqual([[2, 3, 4].map(X), [X(1)]])
  })

  test('with a target that is there is not lost', async () => {
    await kill()
    await expect(move({ isLost: true })).rejects.toThrow('is not lost')
  })

  test('with a target that was restored is not lost: it may have handed out what came', async () => {
    await kill()
    rmSync(join(target, '.incoming'), { recursive: true })
    renewIdentity(target)
    for (const isLost of [false, true])
      await expect(move({ isLost })).rejects.toMatchObject({
        hint: expect.stringContaining('softsim restore'),
      })
  })

  test('that a signal stops is finished by the same command', async () => {
    let calls = 0
    const stop = {
      get aborted() {
        return ++calls > 2
      },
    } as AbortSignal
    // Whatever the user has typed, the others see full paths.
    const short = { source: relative(process.cwd(), source), target: relative(process.cwd(), target) }
    await expect(move({ stop, ...short })).rejects.toMatchObject({
      ...{ outcome: 'interrupted', message: `interrupted; profiles of ${short.source} may be in transit` },
      hint: 'run the same command again: it finishes the move; with --back, it takes it back',
    })
    expect(readdirSync(source).filter((name) => name.includes('+'))).toHaveLength(1)
    expect([ordersIn(target)[0]?.from, outgoingIn(source)[0]?.to]).toEqual([source, target])
    await move()
    expect([names(source), names(target)]).toEqual([[], [1, 2, 3, 4].map(X)])
  })
})
