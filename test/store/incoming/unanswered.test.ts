import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import {
  answerPath,
  formatAnswer,
  INCOMING,
  incomingPath,
  newName,
} from '../../../src/store/incoming/answers.ts'
import { BYTES_RESERVED, toReserve } from '../../../src/store/incoming/free-space.ts'
import { findUnanswered, finishFetches, warnOfUnanswered } from '../../../src/store/incoming/recover.ts'
import { temporaryDirectory } from '../../support/directory.ts'
import { nameOfOther as elsewhere, nameOfGone as gone } from '../../support/store.ts'

const HOUR_MS = 3_600_000
const NOON = Date.parse('2026-11-23T12:00:00Z')

let directory = ''
beforeEach(() => {
  directory = temporaryDirectory()
  mkdirSync(join(directory, INCOMING))
})

function leave(name: string, bytes: string | Uint8Array, ms = NOON): void {
  mkdirSync(incomingPath(directory, name))
  writeFileSync(answerPath(directory, name), bytes)
  for (const path of [answerPath(directory, name), incomingPath(directory, name)])
    utimesSync(path, ms / 1000, ms / 1000)
}

const room = (profiles: number) => toReserve(profiles * BYTES_RESERVED)
const found = () => {
  const { profiles, firstMs, lastMs } = findUnanswered(directory) ?? {}
  return profiles === undefined ? undefined : [profiles, firstMs, lastMs]
}

test('what killed calls had requested, and when, is known from their reserves until a call removes them', async () => {
  leave(gone(), room(100))
  leave(gone(), room(1), NOON + 1500)
  expect(found()).toEqual([101, NOON, NOON + 1500])
  const told: unknown[] = []
  await finishFetches(directory, { warn: (text) => told.push([text.slice(0, 18), found()?.[0]]), tell() {} })
  expect([told, found()]).toEqual([[['up to 101 profiles', 101]], undefined])
})

test.each([[[0, 0]], [[99.5, 0]]])('a reserve that is not whole: nothing was requested', ([profiles = 0]) => {
  leave(gone(), new Uint8Array(1 + profiles * BYTES_RESERVED))
  expect(found()).toBeUndefined()
})

test('a call that lives has requested nothing in vain; another machine’s, when it is a day old', () => {
  leave(newName(), room(3), Date.now())
  leave(elsewhere(), room(3), Date.now() - HOUR_MS)
  expect(found()).toBeUndefined()
  leave(elsewhere(), room(4), Date.now() - 25 * HOUR_MS)
  expect(found()?.[0]).toBe(4)
})

test('an answer of which nothing is written yet is a request; any other is none', () => {
  leave(gone(), room(5))
  leave(gone(), formatAnswer([{ iccid: '8988', profile: 'AAAA' }]))
  // As version 1.1 left them.
  writeFileSync(incomingPath(directory, gone()), room(6))
  writeFileSync(incomingPath(directory, gone('.reserve')), room(7))
  expect(found()?.[0]).toBe(18)
})

test('nothing is there, or nothing is known', () => {
  expect(findUnanswered(join(directory, 'nowhere'))).toBeUndefined()
  leave('theirs.answer', room(5))
  expect(found()).toBeUndefined()
})

test.each([
  [1, NOON, '1 profile', 'at 2026-11-23T12:00:00.000Z'],
  [200, NOON + 250, '200 profiles', 'from 2026-11-23T12:00:00.000Z to 2026-11-23T12:00:00.250Z'],
])('says so: %i', (profiles, lastMs, what, when) => {
  const said: unknown[] = []
  const messages = { warn: (...all: unknown[]) => said.push(all), tell() {} }
  warnOfUnanswered({ directory: 'D', profiles, firstMs: NOON, lastMs }, messages)
  const text = `up to ${what} may have been allocated and not stored in D: a fetch was interrupted that had requested them ${when}`
  expect(said).toEqual([[text, 'unanswered']])
})
