import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { takeHome } from '../../src/move/back.ts'
import { moveProfiles, type Order } from '../../src/move/move.ts'
import { claimAll, usedText } from '../../src/store/claim.ts'
import { openMoves } from '../../src/store/moves.ts'
import { readUnused } from '../../src/store/read.ts'
import { directoryOf, someProfiles, temporaryDirectory, unusedIn, usedIn } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'

/** What happens before a file is opened to be read; it may throw. */
const disk = vi.hoisted(() => ({ beforeRead: (_path: string) => {} }))

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const openSync: typeof fs.openSync = (path, flags, mode) => {
    if (typeof flags === 'number') disk.beforeRead(String(path))
    return fs.openSync(path, flags, mode)
  }
  return { ...fs, openSync, default: { ...fs, openSync } }
})

afterEach(() => {
  disk.beforeRead = () => {}
})

const pair = (count = 5) => [directoryOf(someProfiles(count)), join(temporaryDirectory(), 'profiles')] as const
const file = (n: number, number = 1) => `${iccid(n)}${number === 1 ? '' : `.${number}`}.json`
const files = (...numbers: number[]) => numbers.map((n) => file(n))

/** Runs a move, which `meanwhile` sees saying things, and may interrupt. @returns what it said */
async function move(
  source: string,
  target: string,
  { count = 2, receipt, meanwhile }: { count?: number; receipt?: string; meanwhile?: (text: string, stop: () => void) => void } = {},
) {
  const stop = new AbortController()
  const said: string[] = []
  const say = (text: string) => {
    said.push(text)
    meanwhile?.(text, () => stop.abort())
  }
  const order: Order = {
    source,
    target,
    count,
    receipt,
    stop: stop.signal,
    messages: { warn: say, tell: (_, text) => say(text) },
    progress: { follow: () => {} },
  }
  await moveProfiles(order)
  return said
}

const back = async (source: string, target: string) => {
  const said: string[] = []
  await takeHome({ source, target, messages: { warn: (text) => void said.push(text), tell: (_, text) => void said.push(text) } })
  return said
}

/** A move of two that is interrupted: all is claimed, and nothing decided, or the first of it given. */
async function interrupted(source: string, target: string, decided = false) {
  const openSource = source
  const interrupt = (path: string, stop: () => void) => {
    if (!decided || path !== '') stop()
  }
  let stop = () => {}
  disk.beforeRead = (path) => {
    // The journal is read after the claims, to be continued, and after that, to be followed.
    const isAt = path.startsWith(join(openSource, '.moves')) && path.endsWith(decided ? '2' : '1')
    if (isAt && usedIn(openSource).length >= (decided ? 2 : 0)) interrupt(path, stop)
  }
  const moving = move(source, target, {
    meanwhile: (_, abort) => {
      stop = abort
    },
  })
  await expect(moving).rejects.toMatchObject({ facts: { kind: 'interrupted-move' } })
  disk.beforeRead = () => {}
}
