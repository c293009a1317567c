/** The directory may have been prepared by somebody who wishes us ill: no link in it leads out of it. */
import { mkdirSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, inject, test } from 'vitest'
import { directoryOf, someProfiles, temporaryDirectory } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { startSandbox } from '../support/sandbox.ts'
import { softsim } from '../support/softsim.ts'
import { hasSymlinks } from '../support/system.ts'

const { privateKeyPath: KEY } = inject('keys')

/** A directory of somebody else's, with old files in it under names of ours and of theirs. */
let outside: string

const NAMES = ['theirs', `host~1~${'0'.repeat(36)}.0`, `host~1~${'0'.repeat(36)}.answer`].sort()

beforeEach(() => {
  outside = temporaryDirectory()
  for (const name of NAMES) {
    writeFileSync(join(outside, name), 'theirs\n')
    utimesSync(join(outside, name), 0, 0)
  }
})

const expectOutsideUntouched = () => {
  expect(readdirSync(outside).sort()).toEqual(NAMES)
  for (const name of NAMES) expect(readFileSync(join(outside, name), 'utf8')).toBe('theirs\n')
}

test.skipIf(!hasSymlinks)('next: .incoming is a link', async () => {
  const directory = directoryOf(someProfiles(1))
  symlinkSync(outside, join(directory, '.incoming'))
  expect(await softsim(['next', '-k', KEY, '-i', directory])).toMatchObject({ code: 0, stderr: '' })
  expectOutsideUntouched()
})

test.skipIf(!hasSymlinks)('fetch: .incoming is a link, and no request is sent', async () => {
  const { fetch, directory, requests } = await startSandbox()
  mkdirSync(directory)
  symlinkSync(outside, join(directory, '.incoming'))
  expect(await fetch()).toMatchObject({ code: 9 })
  expect(requests).toEqual([])
  expectOutsideUntouched()
})

test.skipIf(!hasSymlinks)('next: the hint is a link', async () => {
  const directory = directoryOf(someProfiles(1))
  symlinkSync(join(outside, 'theirs'), join(directory, '.unused'))
  expect(await softsim(['next', '-k', KEY, '-i', directory])).toMatchObject({ code: 0, stderr: '' })
  expectOutsideUntouched()
})

test.skipIf(!hasSymlinks)('fetch: a link has the name of a profile', async () => {
  const { fetch, directory } = await startSandbox({ firstIccid: 7 })
  mkdirSync(directory)
  symlinkSync(join(outside, 'theirs'), join(directory, `${iccid(7)}.json`))
  expect(await fetch()).toMatchObject({ code: 3 })
  expectOutsideUntouched()
})
