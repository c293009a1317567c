/** `next --iccid` beside other calls that claim the same profile, or were killed while they did. */
import { mkdirSync, rmSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import { adviceOn } from '../../src/advice/advice.ts'
import { take as takeProfiles } from '../../src/next/take.ts'
import { usedText } from '../../src/store/claim.ts'
import { recordAll } from '../../src/store/devices.ts'
import { iccid } from '../support/profiles.ts'
import { fail } from '../support/watched-fs.ts'
import { decide, directory, names, path, read, said, source, textFor, unused, used, write } from './lot.ts'

vi.mock('../../src/pause.ts', () => ({ pause() {} }))
vi.mock('node:fs', async () => (await import('../support/watched-fs.ts')).watchedFs)

/** @param beforeClaim what happens right before the claim */
async function take(beforeClaim?: () => void) {
  const { taken } = await takeProfiles(source(beforeClaim), { count: 1, iccid: iccid(1) })
  return taken[0]
}

const AGAIN = `${iccid(1)} was handed out before: use it only for the same device`
const AGAIN_FOR_D = `${iccid(1)} was handed out before: use it only for device D`
const ASIDE = `${iccid(1)} was set aside: a call was killed while it claimed it`

test.each([
  [undefined, AGAIN],
  ['D', AGAIN_FOR_D],
])('what a killed call has decided is finished, and is used: for %s', async (device, says) => {
  decide(iccid(1), textFor(device, 1))
  expect(await take()).toMatchObject({ isAgain: true, ...(device && { device }) })
  expect([said, names()]).toEqual([[says], [unused(2), unused(3), unused(4), used(1)]])
})

test('another call claims it right before this one, and prints it: this one does not', async () => {
  const meanwhile = () => decide(iccid(1), textFor('D', 1))
  await expect(take(meanwhile)).rejects.toThrow(`another call has claimed ${iccid(1)}`)
  expect(await take()).toMatchObject({ isAgain: true, device: 'D' })
})

test('another call claims anew what is set aside, right before this one: this one does not print it', async () => {
  const stored = read(unused(1))
  write(used(1), '')
  const meanwhile = () => decide(`${iccid(1)}.2`, usedText({ name: unused(1, 2), stored }, undefined))
  await expect(take(meanwhile)).rejects.toThrow(`another call has claimed ${iccid(1)}`)
  expect(await take()).toMatchObject({ isAgain: true })
})

test('what names a device that has another profile, as an earlier version left it, is claimed under number 2', async () => {
  const { claim, ...earlier } = JSON.parse(textFor('D', 1))
  write(used(1), JSON.stringify(earlier))
  const other = textFor('D', 2)
  await recordAll(directory, [{ text: other, records: 0 }])
  write(used(2), other)
  expect((await take())?.device).toBeUndefined()
  expect([said, JSON.parse(read(used(1, 2))).device]).toEqual([[ASIDE], undefined])
})

test('a torn used file does not say whose it is: one that is recorded for a device goes to no other one', async () => {
  await recordAll(directory, [{ text: textFor('E', 1), records: 0 }])
  write(used(1), '')
  await expect(takeProfiles(source(), { count: 1, iccid: iccid(1), devices: ['D'] })).rejects.toMatchObject({
    facts: { kind: 'others-profile' },
  })
})

describe('it says what is wrong:', () => {
  test('the used file is a directory', async () => {
    mkdirSync(path(used(1)))
    await expect(take().catch(adviceOn)).resolves.toMatchObject({
      outcome: 'unusable',
      message: `${iccid(1)} can't be handed out: it is not a regular file`,
    })
  })

  test('the used file is torn, and no other one is there', async () => {
    write(used(1), '')
    rmSync(path(unused(1)))
    await expect(take()).rejects.toThrow(`${unused(1)} can't be handed out: its used file is not complete`)
  })

  test.each([
    ['EIO', /^check the disk, then run the same command again$/],
    ['EACCES', /^give this user permission .*, then run the same command again$/],
  ])('nobody can tell whether the profile is used: %s', async (code, hint) => {
    fail(/^look$/, '', code)
    await expect(take().catch(adviceOn)).resolves.toMatchObject({
      outcome: 'disk',
      message: expect.stringContaining(`can't claim ${iccid(1)}: `),
      hint: expect.stringMatching(hint),
    })
  })

  test.each(['EBUSY', 'EACCES'])('the unused file can’t be claimed: %s', async (code) => {
    fail(/^rename$/, iccid(1), code)
    await expect(take().catch(adviceOn)).resolves.toMatchObject({
      outcome: 'disk',
      message: expect.stringContaining(`can't be claimed; ${unused(1)}: it can't be marked as used: `),
    })
    expect(names()).toContain(unused(1))
  })
})
