import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, inject, test } from 'vitest'
import { directoryOf, someProfiles } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { failure } from '../support/promises.ts'
import { softsim } from '../support/softsim.ts'

const { privateKeyPath: KEY } = inject('keys')

let directory: string

beforeEach(() => {
  directory = directoryOf(someProfiles(5))
})

const next = (...args: string[]) => softsim(['next', '-k', KEY, '-i', directory, ...args])
const warning = (count: string) => `softsim: warning: at most ${count} left in ${directory}\n`

test('it warns at that many, and not before; the profile and the exit code are the same', async () => {
  expect(await next('--low-stock', '3')).toMatchObject({ code: 0, stderr: '' })
  const { code, stdout, stderr } = await next('--low-stock', '3')
  expect([code, stdout.split('\n').length, stderr]).toEqual([0, 2, warning('3 unused profiles')])
  expect(await next('--low-stock', '2', '-n', '2')).toMatchObject({
    code: 0,
    stderr: warning('1 unused profile'),
  })
  expect(await next()).toMatchObject({ code: 0, stderr: '' })
})

test('0 warns of the last one', async () => {
  expect(await next('--low-stock', '0', '-n', '4')).toMatchObject({ code: 0, stderr: '' })
  const last = `softsim: warning: no other known unused profile in ${directory}\n`
  expect(await next('--low-stock', '0')).toMatchObject({ code: 0, stderr: last })
})

test('a device that has its profile takes none', async () => {
  const warnings: boolean[] = []
  for (const device of ['SN-1', 'SN-1', 'SN-2', 'SN-1']) {
    const { stderr } = await next('--device', device, '--low-stock', '3')
    warnings.push(stderr.endsWith(warning('3 unused profiles')))
  }
  expect(warnings).toEqual([false, false, true, true])
})

test('a call that reads neither the list nor the directory says that it does not know', async () => {
  const unknown = `softsim: this call does not know how many unused profiles are left in ${directory}\n`
  expect(await next('--iccid', iccid(1), '--low-stock', '9')).toMatchObject({ code: 0, stderr: unknown })
  await next('--device', 'SN-1')
  rmSync(join(directory, '.unused'))
  const again = await next('--device', 'SN-1', '--low-stock', '9')
  expect(again.stderr).toBe(
    `softsim: warning: device SN-1 already has ${iccid(2)}; printing the same profile again\n${unknown}`,
  )
  // Without the option, it says nothing: not that none is left.
  expect((await next('--device', 'SN-1', '-v')).stderr).not.toMatch(/unused|left/)
})

test.each(['-1', '', 'x', '1.5', '1000000000'])('%j is no number of profiles', async (value) => {
  expect(await next(`--low-stock=${value}`)).toEqual(
    failure(
      2,
      /the value of --low-stock is not a whole number from 0 to 999999999/,
      /for example: --low-stock 100/,
    ),
  )
})
