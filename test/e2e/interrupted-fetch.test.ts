import { expect, test } from 'vitest'
import { namesIn, unusedIn } from '../support/directory.ts'
import { startSandbox } from '../support/sandbox.ts'
import { softsim, until } from '../support/softsim.ts'

/** A fetch of 3000 that was killed after its first files had appeared: so its first answer had been put aside, and the next request was out. */
async function killedFetch() {
  const sandbox = await startSandbox()
  const { directory, delivered, requests } = sandbox
  sandbox.fault({ kind: 'none' }, { kind: 'delay', ms: 300_000, times: 10 })
  const { child, ended } = sandbox.startFetch(['-n', '3000'])
  await until(() => delivered.size === 100 && hasProfiles(directory) && requests.length > 1)
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

test('what it had requested and not received is told by status, and once by the call that cleans up', async () => {
  const { directory, requests } = await killedFetch()
  const [{ count = 0, time = 0 } = {}, another] = requests.slice(1)
  expect(another).toBeUndefined()
  const said = new RegExp(
    `^softsim: warning: up to ${count} profiles may have been allocated and not stored in .+: a fetch was interrupted that had requested them at (\\S+Z); ask the service provider for them$`,
    'm',
  )
  const status = () => softsim(['status', '-i', directory])
  for (let times = 0; times < 2; times++) {
    const { code, stdout, stderr } = await status()
    expect([code, stdout.replace(directory, '')]).toEqual([
      0,
      `\n  unused              100\n  unanswered    ${String(count).padStart(9)}\n`,
    ])
    expect(Math.abs(Date.parse(said.exec(stderr)?.[1] ?? '') - time)).toBeLessThan(10_000)
  }
  const fresh = await startSandbox({ firstIccid: 5_000_000_000_000 - 1 })
  const fetch = () => fresh.fetch(['-n', '1', '-o', directory])
  expect(await fetch()).toMatchObject({ code: 0, stderr: expect.stringMatching(said) })
  expect((await fetch()).stderr + (await status()).stderr).not.toContain('allocated')
})
