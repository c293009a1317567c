import { spawnSync } from 'node:child_process'
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { moveProfiles } from '../../src/move/move.ts'
import { finishAnswers, receive, request, waitingIn } from '../../src/store/incoming.ts'
import { newTag } from '../../src/store/names.ts'
import { arriveOnStick, decideOnStick, isWholeSoon } from '../../src/store/stick.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { lot, messages, names, profile, put, X } from '../support/lot.ts'
import { iccid } from '../support/profiles.ts'

const items = (...numbers: number[]) => numbers.map((n) => ({ name: X(n) }))
const textOf = (n: number) => JSON.stringify(profile(n))
const texts = new Map([1, 2, 3, 4].map((n) => [X(n), textOf(n)]))
const arrive = (directory: string, ...numbers: number[]) =>
  arriveOnStick(directory, items(...numbers), ({ name }) => texts.get(name))
const contents = (directory: string, name: string) => readFileSync(join(directory, name), 'utf8')

test('a name that a power cut has left without contents, or with a part of them, is filled', async () => {
  const directory = lot(0)
  writeFileSync(join(directory, X(1)), '')
  writeFileSync(join(directory, X(2)), textOf(2).slice(0, 20))
  expect(await arrive(directory, 1, 2, 3)).toBe(true)
  for (const n of [1, 2, 3]) expect(contents(directory, X(n))).toBe(textOf(n))
})

test('what is whole, used, held or put aside stays, and nothing comes beside it', async () => {
  const directory = lot(0)
  const whole = `${textOf(1)}\n`
  writeFileSync(join(directory, X(1)), whole)
  put(directory, 2, `__${X(2)}`)
  put(directory, 3, `.${X(3)}~${newTag()}`)
  put(directory, 4, `${X(4)}.aside`)
  const before = readdirSync(directory).sort()
  expect(await arrive(directory, 1, 2, 3, 4)).toBe(true)
  expect(readdirSync(directory).sort()).toEqual(before)
  expect(contents(directory, X(1))).toBe(whole)
})

test('a filler F in its name, but not in its text, makes no other profile', async () => {
  const directory = lot(0)
  const name = `${iccid(1)}F.json`
  writeFileSync(join(directory, name), textOf(1))
  expect(await arriveOnStick(directory, [{ name }], () => textOf(1))).toBe(true)
  expect(contents(directory, name)).toBe(textOf(1))
  // What was on the disk before may be in it, or in a part of it.
  for (const text of [textOf(2), textOf(1).replace('QUJD', 'WFla')]) {
    writeFileSync(join(directory, X(1)), text)
    expect(await arrive(directory, 1)).toBe(true)
    expect(contents(directory, X(1))).toBe(textOf(1))
  }
})

test('what its source has forgotten has come before, and is not made; it is not there yet, or again', async () => {
  const directory = lot(0, 'disk')
  expect(await arriveOnStick(directory, items(1), () => undefined)).toBe(false)
  expect(names(directory)).toEqual([])
  // A pull has taken what was in it.
  writeFileSync(join(directory, X(1)), '')
  expect(await arriveOnStick(directory, items(1), () => undefined)).toBe(false)
  expect(contents(directory, X(1))).toBe('')
})

test('the first list wins, and one that a power cut took is written again', () => {
  const place = join(lot(0), 'given')
  const decided = (text: string) => {
    decideOnStick(place, 'list', text)
    return JSON.parse(contents(place, 'list'))
  }
  expect(decided('{"by":"a"}')).toEqual({ by: 'a' })
  expect(decided('{"by":"b"}')).toEqual({ by: 'a' })
  writeFileSync(join(place, 'list'), '')
  expect(decided('{"by":"c"}')).toEqual({ by: 'c' })
  // The half of a longer list that ends with a brace.
  writeFileSync(join(place, 'list'), '{"by":"d","items":[{"name":"1"},{"name":"2"}')
  expect(decided('{"by":"e"}')).toEqual({ by: 'e' })
})

test('what is put aside in part is put aside again', () => {
  const directory = lot(0)
  const place = join(directory, '.incoming', 'abc')
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, 'order'), '{"na')
  expect(isWholeSoon(join(place, 'order'))).toBe(false)
  decideOnStick(place, 'order', '{"names":[]}')
  expect(isWholeSoon(join(place, 'order'))).toBe(true)
})

/** A stick of FAT, if this user may mount one and the system knows FAT; it is mounted until the end. */
function mountStick(): string | undefined {
  const image = join(temporaryDirectory(), 'image')
  const place = temporaryDirectory()
  const file = openSync(image, 'w')
  ftruncateSync(file, 64 * 1024 * 1024)
  closeSync(file)
  const isMade = spawnSync('mkfs.fat', ['-F', '32', '-s', '1', image]).status === 0
  const isMounted = isMade && spawnSync('mount', ['-t', 'vfat', '-o', 'loop', image, place]).status === 0
  if (isMounted) afterAll(() => void spawnSync('umount', [place]))
  return isMounted ? place : undefined
}

const stick = mountStick()

describe.skipIf(stick === undefined)('on a real stick', () => {
  const newLot = (name: string) => join(stick ?? '', name)
  const move = (source: string, target: string) =>
    moveProfiles({
      ...{ source, target, count: Number.POSITIVE_INFINITY, isBack: false, isLost: false },
      ...{ stop: new AbortController().signal, messages: messages(), progress: { follow() {} } },
    })

  test('a move comes, and leaves nothing open', async () => {
    const [source, target] = [lot(3), newLot('moved')]
    await move(source, target)
    expect(names(target)).toEqual([X(1), X(2), X(3)])
    expect(names(source)).toEqual([])
    expect(readdirSync(join(target, '.incoming'))).toEqual([])
  })

  test('an answer comes, and what a cut has left of one is removed', async () => {
    const directory = newLot('fetched')
    mkdirSync(directory)
    await receive(directory, request(directory, 2), [profile(1), profile(2)])
    expect(names(directory)).toEqual([X(1), X(2)])
    mkdirSync(join(directory, '.incoming', 'abc'))
    writeFileSync(join(directory, '.incoming', 'abc', 'answer'), '')
    await finishAnswers(directory, messages())
    expect(waitingIn(directory)).toEqual({ answers: [], requests: [], orders: [] })
    expect(readdirSync(join(directory, '.incoming'))).toEqual([])
  })
})
