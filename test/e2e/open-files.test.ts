/** Calls that may have few files open: ulimit(1) says so. */
import { existsSync } from 'node:fs'
import { expect, inject, test } from 'vitest'
import { directoryOf, someProfiles, usedIn } from '../support/directory.ts'
import { failure } from '../support/promises.ts'
import { startSandbox } from '../support/sandbox.ts'
import { softsim } from '../support/softsim.ts'

const limited = { shell: 'ulimit -n 64 && exec "$@"' }
const WHY = /can't open \d+ files at a time: the limit is 64 open files/
const HINT = /raise it: ulimit -n 1024 .*; nothing was requested or claimed/

test.skipIf(process.platform === 'win32')('fetch requests nothing', async () => {
  const { fetch, requests, directory } = await startSandbox()
  expect(await fetch(['-n', '500'], limited)).toEqual(failure(9, WHY, HINT))
  expect([requests, existsSync(directory)]).toEqual([[], false])
  expect(await fetch(['-n', '5'], limited)).toMatchObject({ code: 0 })
})

test.skipIf(process.platform === 'win32')('next claims nothing', async () => {
  const directory = directoryOf(someProfiles(50))
  const next = (count: number) =>
    softsim(['next', '-k', inject('keys').privateKeyPath, '-i', directory, '-n', String(count)], limited)
  expect(await next(50)).toEqual(failure(9, WHY, HINT))
  expect(usedIn(directory)).toEqual([])
  expect(await next(5)).toMatchObject({ code: 0 })
})
