/** `next --iccid` beside other calls that claim the same profile, or were killed while they did. */
import { createPrivateKey } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test, vi } from 'vitest'
import { adviceOn } from '../../../src/advice/advice.ts'
import type { Source } from '../../../src/next/ready.ts'
import { takeByIccid } from '../../../src/next/take/by-iccid.ts'
import { usedText } from '../../../src/store/claim.ts'
import { recordAll } from '../../../src/store/devices.ts'
import { directoryOf, namesIn, someProfiles, temporaryDirectory } from '../../support/directory.ts'
import { iccid } from '../../support/profiles.ts'
import { fail } from '../../support/watched-fs.ts'

vi.mock('../../../src/pause.ts', () => ({ pause() {} }))
vi.mock('node:fs', async () => (await import('../../support/watched-fs.ts')).watchedFs)

const unused = (n: number, number = 1) => `${iccid(n)}${number === 1 ? '' : `.${number}`}.json`
const used = (n: number, number = 1) => `__${unused(n, number)}`
const key = { object: createPrivateKey(inject('keys').privateKey), inFile: 1 }

/** A directory with one profile, and a call that takes it; `hold` is called right before the claim. */
function call(hold: () => void = () => {}) {
  const directory = directoryOf(someProfiles(1))
  const path = (name: string) => join(directory, name)
  const stored = readFileSync(path(unused(1)), 'utf8')
  const said: string[] = []
  const source: Source = {
    directory,
    key,
    format: 'raw',
    options: { smsp: false, smsc: true, crc: true },
    messages: { warn: (text) => void said.push(text), tell: () => {} },
    signals: { stop: new AbortController().signal, hold },
  }
  return {
    directory,
    path,
    stored,
    said,
    source,
    text: (device?: string) => usedText({ name: unused(1), stored }, device),
    use: (text: string) => writeFileSync(path(used(1)), text),
    used: (number = 1) => JSON.parse(readFileSync(path(used(1, number)), 'utf8')),
    /** As a call leaves it that was killed right after its decision. */
    claim(text: string) {
      mkdirSync(path(`.claims/${iccid(1)}`), { recursive: true })
      writeFileSync(path(`.claims/${iccid(1)}/nonce`), text)
    },
    async take() {
      const { taken } = await takeByIccid(source, iccid(1))
      return taken[0]
    },
  }
}

const AGAIN = `${iccid(1)} was handed out before: use it only for the same device`
const AGAIN_FOR_D = `${iccid(1)} was handed out before: use it only for device D`
const ASIDE = `${iccid(1)} was set aside: a call was killed while it claimed it`

test('an unused profile is claimed; a used one is printed as before, and what lies beside it goes', async () => {
  const { directory, path, stored, said, take } = call()
  expect((await take())?.isAgain).toBeUndefined()
  expect([namesIn(directory), said]).toEqual([[used(1)], []])
  writeFileSync(path(unused(1)), stored)
  expect(await take()).toMatchObject({ isAgain: true })
  expect([namesIn(directory), said]).toEqual([[used(1)], [AGAIN]])
})

test.each([
  [undefined, AGAIN],
  ['D', AGAIN_FOR_D],
])('what a killed call has decided is finished, and is used: for %s', async (device, says) => {
  const { directory, said, text, claim, take } = call()
  claim(text(device))
  expect(await take()).toMatchObject({ isAgain: true, ...(device && { device }) })
  expect([said, namesIn(directory)]).toEqual([[says], [used(1)]])
})

test('another call claims it right before this one: it is printed again, with a warning', async () => {
  const one = call(() => one.claim(one.text('D')))
  expect(await one.take()).toMatchObject({ isAgain: true, device: 'D' })
  expect([one.said, one.used().device]).toEqual([[AGAIN_FOR_D], 'D'])
})

test('what a panel claimed is claimed anew: the panel may come short, and give it back', async () => {
  const { said, text, use, used: read, take } = call()
  use(JSON.stringify({ ...JSON.parse(text()), panel: 2 }))
  expect(await take()).toMatchObject({ isAgain: true })
  expect([said, read(2).file]).toEqual([[AGAIN], unused(1, 2)])
  expect(await take()).toMatchObject({ isAgain: true })
  expect(said).toEqual([AGAIN, AGAIN])
})

describe('what an earlier version left half claimed is claimed under number 2:', () => {
  test.each(['', '{"iccid":"89'])('the used file is %j', async (torn) => {
    const { directory, stored, said, use, used: read, take } = call()
    use(torn)
    const taken = await take()
    expect([taken?.iccid, taken?.isAgain, said]).toEqual([iccid(1), undefined, [ASIDE]])
    expect(read(2)).toMatchObject({ ...JSON.parse(stored), file: unused(1, 2) })
    expect(namesIn(directory)).toContain(used(1, 2))
    expect(await take()).toMatchObject({ isAgain: true })
    expect(said.at(-1)).toBe(AGAIN)
  })

  test('the used file names a device that has another profile', async () => {
    const { directory, said, path, text, use, used: read, take } = call()
    const { claim, ...earlier } = JSON.parse(text('D'))
    use(JSON.stringify(earlier))
    const other = text('D').replaceAll(iccid(1), iccid(2))
    await recordAll(directory, [{ text: other, records: 0 }])
    writeFileSync(path(used(2)), other)
    expect((await take())?.device).toBeUndefined()
    expect([said, read(2).device]).toEqual([[ASIDE], undefined])
  })
})

test('a used file that was renamed back by hand is handed out again, with its device', async () => {
  const { path, text, take } = call()
  writeFileSync(path(unused(1)), text('D'))
  expect(await take()).toMatchObject({ isAgain: true, device: 'D' })
})

describe('it says what is wrong:', () => {
  test('the directory is missing, or has no such profile', async () => {
    const { source, directory } = call()
    await expect(takeByIccid(source, iccid(9))).rejects.toThrow(`no profile ${iccid(9)} in ${directory}`)
    const missing = join(temporaryDirectory(), 'missing')
    await expect(takeByIccid({ ...source, directory: missing }, iccid(1))).rejects.toThrow(
      `directory ${missing} does not exist`,
    )
  })

  test('the profile is moved, and has not come back', async () => {
    const { use, path, stored, take } = call()
    use(JSON.stringify({ move: '0'.repeat(36), to: '/there', moved: JSON.parse(stored) }))
    await expect(take()).rejects.toThrow(`${iccid(1)} is moved to /there`)
    writeFileSync(path(unused(1, 2)), stored)
    expect(await take()).toMatchObject({ name: unused(1, 2) })
  })

  test('the used file is a directory', async () => {
    const { path, take } = call()
    mkdirSync(path(used(1)))
    await expect(take().catch(adviceOn)).resolves.toMatchObject({
      outcome: 'unusable',
      message: `${iccid(1)} can't be handed out: it is not a regular file`,
    })
  })

  test('the used file is torn, and no other one is there', async () => {
    const { path, use, take } = call()
    use('')
    rmSync(path(unused(1)))
    await expect(take()).rejects.toThrow(`${unused(1)} can't be handed out: its used file is not complete`)
  })

  test.each([
    ['EIO', /^check the disk, then run the same command again$/],
    ['EACCES', /^give this user permission .*, then run the same command again$/],
  ])('nobody can tell whether the profile is used: %s', async (code, hint) => {
    const { take } = call()
    fail(/^look$/, '', code)
    await expect(take().catch(adviceOn)).resolves.toMatchObject({
      outcome: 'disk',
      message: expect.stringContaining(`can't claim ${iccid(1)}: `),
      hint: expect.stringMatching(hint),
    })
  })
})
