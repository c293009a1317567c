import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { newAnswerName } from '../../src/store/incoming/answers.ts'
import { directoryOf, namesIn, someProfiles, unusedIn } from '../support/directory.ts'
import { iccid, plainProfile, storedFile } from '../support/profiles.ts'
import { startSandbox } from '../support/sandbox.ts'
import { softsim, until } from '../support/softsim.ts'

const { privateKeyPath: KEY, publicKey } = inject('keys')

/** A fetch of 3000 that was killed after its first files had appeared: so its first answer had been put aside. */
async function killedFetch() {
  const sandbox = await startSandbox()
  sandbox.fault({ kind: 'none' }, { kind: 'delay', ms: 300_000, times: 10 })
  const { child, ended } = sandbox.startFetch(['-n', '3000'])
  await until(() => sandbox.delivered.size === 100 && hasProfiles(sandbox.directory))
  child.kill('SIGKILL')
  await ended
  return sandbox
}

function hasProfiles(directory: string): boolean {
  try {
    return unusedIn(directory).length > 0
  } catch {
    return false
  }
}

test('the next fetch stores what a killed fetch received, and then fetches its own count', async () => {
  const { delivered, directory, requests, url } = await killedFetch()
  const before = requests.length
  const fresh = await startSandbox({ firstIccid: 5_000_000_000_000 - 1 })
  expect(url).not.toBe(fresh.url)
  expect(await fresh.fetch(['-n', '10', '-o', directory])).toMatchObject({ code: 0, stdout: '' })
  const expected = [...delivered.keys(), ...fresh.delivered.keys()].map((iccid) => `${iccid}.json`)
  expect(namesIn(directory)).toEqual(expected.sort())
  expect(requests.length).toBe(before)
})

test('next also stores it, with no loss and no duplicate', async () => {
  const { delivered, directory } = await killedFetch()
  const run = await softsim(['next', '-k', KEY, '-i', directory, '--format=raw'])
  expect(run.code).toBe(0)
  const { iccid } = JSON.parse(run.stdout)
  const expected = [...delivered.keys()].map((each) => `${each === iccid ? '__' : ''}${each}.json`)
  expect(namesIn(directory)).toEqual(expected.sort())
})

test('if a response is only partly readable, next says where the rest is kept', async () => {
  const directory = directoryOf(someProfiles(1))
  // More than any system gives.
  const name = `${newAnswerName().replace(`~${process.pid}~`, '~4194999~')}.answer`
  const line = storedFile(plainProfile(2), publicKey)
  const text = `${line}\n${line.slice(0, 100)}`
  mkdirSync(join(directory, '.incoming'))
  writeFileSync(join(directory, '.incoming', name), text)
  const { code, stderr } = await softsim(['next', '-k', KEY, '-i', directory])
  expect(code).toBe(0)
  const path =
    /^softsim: warning: part of what an interrupted call received can't be read; the rest is kept in (.+)$/m.exec(
      stderr,
    )?.[1]
  expect(readFileSync(path ?? '', 'utf8')).toBe(text)
  expect(namesIn(directory)).toEqual([`${iccid(2)}.json`, `__${iccid(1)}.json`])
})
