import { cpSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, inject, test } from 'vitest'
import { type Inquiry, showStatus } from '../../src/status/status.ts'
import { addResult, identityOf, makeRecords } from '../../src/store/directory.ts'
import { addProfile, directoryOf, someProfiles, temporaryDirectory } from '../support/directory.ts'
import { iccid, plainProfile, storedFile } from '../support/profiles.ts'

const TAG = '0123456789abcdef0123'
const HELD = 'a123456789abcdef0123'
const MOVE = `${TAG}.${HELD}`

const KEY = { keyPath: inject('keys').privateKeyPath }

/** What `status` prints and says of a directory, and how it ends. */
async function statusOf(directory: string, changes: Partial<Inquiry> = {}) {
  const said: string[] = []
  const printed: string[] = []
  const messages = {
    warn: (text: string) => said.push(text),
    tell: (_: number, text: string) => said.push(text),
  }
  const failure = await showStatus({
    directory,
    keyPath: undefined,
    passphrase: undefined,
    count: Number.POSITIVE_INFINITY,
    list: undefined,
    devices: [],
    iccids: [],
    format: 'json',
    messages,
    progress: { follow: () => {} },
    print: async (text) => void printed.push(text),
    ...changes,
  }).catch((error) => error)
  const rows = () =>
    printed
      .join('')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
  return { said, text: printed.join(''), rows, outcome: failure?.outcome, failure }
}

const X = (n: number) => `${iccid(n)}.json`
const TIME = '2026-11-26T06:00:00.000Z'
const LATER = '2026-11-26T07:00:00.000Z'

/** The text of a used file, or of what is to become one. */
const usedText = (n: number, fields: object = {}) =>
  JSON.stringify({
    iccid: iccid(n),
    profile: 'AAAA',
    station: 'line-1',
    claimed: TIME,
    claim: TAG,
    ...fields,
  })

/** A new directory with these files. */
function directoryWith(files: Record<string, string>): string {
  const directory = temporaryDirectory()
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true })
    writeFileSync(join(directory, name), text)
  }
  return directory
}

/** Devices whose profiles are used and recorded. */
async function directoryFor(...devices: string[]): Promise<string> {
  const files = devices.map((device, n) => [`__${X(n)}`, usedText(n, { device })])
  const directory = directoryWith(Object.fromEntries(files))
  await makeRecords(
    directory,
    devices.map((device, n) => ({ device, iccid: iccid(n) })),
  )
  return directory
}

const ORDER = JSON.stringify({ source: 'ab', from: '/mnt/stick', names: [X(1), X(3), X(9)] })
const REQUEST = JSON.stringify({ count: 50, station: 'line-2', time: TIME })

/** A profile in each place that there is. */
const EVERYWHERE = {
  [X(1)]: usedText(1),
  [`__${X(2)}`]: usedText(2),
  [`.${X(3)}~${HELD}`]: usedText(3),
  [`.~${HELD}`]: usedText(3, { device: 'SN-3' }),
  [`.${X(4)}~${MOVE}+${TAG}`]: usedText(4),
  [`.outgoing/${MOVE}`]: '/mnt/target',
  [`${X(5)}.aside`]: usedText(5),
  [`__${X(6)}`]: usedText(6),
  [`.${X(6)}~${TAG}`]: usedText(6),
  '.incoming/0d/answer': `${JSON.stringify({ iccid: iccid(7), profile: 'AAAA' })}\n`,
  '.incoming/0e/order': ORDER,
  '.incoming/~0f/request': REQUEST,
  'hello.json': '{}',
}

describe('the counts', () => {
  test('of each place', async () => {
    const directory = directoryWith(EVERYWHERE)
    identityOf(directory)
    const before = readdirSync(directory, { recursive: true }).sort()
    const { rows, said, outcome } = await statusOf(directory)
    expect(rows()).toMatchObject([
      {
        unused: 1,
        used: 2,
        held: 1,
        inTransit: 1,
        coming: 2,
        unanswered: 50,
        aside: 1,
        notProfiles: 1,
        version: 1,
      },
    ])
    expect(said).toEqual([
      `1 profile held by calls since ${TIME}: if these were killed, a call that needs the profiles frees them`,
      '1 profile in transit to /mnt/target: run the same softsim move again',
      '1 profile to come from a fetch: the next softsim fetch stores them',
      '1 profile to come from /mnt/stick: run the same softsim move again',
      `a fetch of 50 profiles (line-2, ${TIME}) has no answer: if it was killed, they may be paid for and lost; ask the service provider`,
      `${X(5)} is put aside: by a receipt, it has left ${directory}; see softsim help restore`,
      expect.stringContaining(
        `${iccid(6)} was claimed by station line-1 at ${TIME}, and perhaps not printed`,
      ),
      '1 file named unlike profiles, such as hello.json',
    ])
    expect(outcome).toBeUndefined()
    expect(readdirSync(directory, { recursive: true }).sort()).toEqual(before)
  })

  test('of what comes home by a move, though it was put aside, are among those that come', async () => {
    const order = JSON.stringify({ source: 'ab', from: '/mnt/stick', names: [X(1)] })
    const directory = directoryWith({ [`${X(1)}.aside`]: usedText(1), '.incoming/0e/order': order })
    expect((await statusOf(directory)).rows()).toMatchObject([{ coming: 1, aside: 1 }])
  })

  test('of files that are named unlike profiles name the first twenty', async () => {
    const names = Array.from({ length: 22 }, (_, n) => `x${n + 10}.json`)
    const files = Object.fromEntries(names.map((name) => [name, '']))
    const { said } = await statusOf(directoryWith({ ...files, [X(1)]: usedText(1) }))
    expect(said).toEqual([`22 files named unlike profiles, such as ${names.slice(0, 20).join(', ')}`])
  })

  test('of what a call holds that has written nothing yet are since now', async () => {
    const { said } = await statusOf(directoryWith({ [`.${X(1)}~${HELD}`]: usedText(1) }))
    expect(said).toEqual([expect.stringMatching(/^1 profile held by calls since now: /)])
  })

  test('say where profiles are if none is unused and calls hold them', async () => {
    const { failure } = await statusOf(directoryWith({ [`.${X(1)}~${HELD}`]: usedText(1) }))
    expect(failure.hint).toMatch(/^the numbers say where they are/)
  })

  test('of what calls hold are those since the first of them', async () => {
    const claims = [LATER, TIME, LATER].map((claimed, n) => [
      `.~${n}${HELD.slice(1)}`,
      usedText(n, { claimed }),
    ])
    const held = [0, 1, 2].map((n) => [`.${X(n)}~${n}${HELD.slice(1)}`, usedText(n)])
    const { said } = await statusOf(directoryWith(Object.fromEntries([...claims, ...held])))
    expect(said).toEqual([expect.stringContaining(`3 profiles held by calls since ${TIME}: `)])
  })

  test('as text have a line for each number that is not 0', async () => {
    const { text } = await statusOf(directoryWith({ [`__${X(2)}`]: usedText(2) }), { format: 'text' })
    expect(text.split('\n').slice(1)).toEqual(['  unused                0', '  used                  1', ''])
  })

  test('leave out what is nobody’s, also in each hidden directory', async () => {
    const places = [
      '',
      '.devices',
      '.devices/@eaDir',
      '.incoming',
      '.incoming/@eaDir',
      '.claims',
      '.outgoing',
    ]
    const names = [
      '.DS_Store',
      '._1',
      '.nfs0001',
      `__${iccid(1)}.sync-conflict-20261126-060000-ABCDEFG`,
      'Thumbs.db',
    ]
    const files = places.flatMap((place) => names.map((name) => [join(place, name), '']))
    const directory = directoryWith({ ...Object.fromEntries(files), [X(1)]: usedText(1) })
    mkdirSync(join(directory, '@eaDir'))
    const counts = await statusOf(directory)
    expect(counts.rows()).toMatchObject([
      { unused: 1, used: 0, held: 0, coming: 0, unanswered: 0, notProfiles: 0 },
    ])
    expect(counts.said).toEqual([])
    const list = await statusOf(directory, { list: 'all' })
    expect(list).toMatchObject({ text: '', said: ['0 devices: 0 passed, 0 not passed'] })
  })

  test('of none unused', async () => {
    const hintOf = async (files: Record<string, string>) => (await statusOf(directoryWith(files))).failure
    const used = { [`__${X(2)}`]: '' }
    const aside = { [`${X(5)}.aside`]: '' }
    const GETS = '; softsim fetch gets some'
    expect(await hintOf({})).toMatchObject({
      outcome: 'no-profiles',
      hint: `check its name, and that its disk is there${GETS}`,
    })
    expect(await hintOf(used)).toMatchObject({
      hint: `all that were here are used, or have moved${GETS}`,
    })
    expect(await hintOf({ ...used, ...aside })).toMatchObject({
      hint: `the numbers say where they are${GETS}`,
    })
    expect(await hintOf({ ...used, ...aside, '.incoming/0e/order': ORDER })).toMatchObject({
      hint: 'the warnings say what brings some',
    })
    expect(await statusOf(join(temporaryDirectory(), 'nope'))).toMatchObject({
      outcome: 'no-profiles',
      text: '',
    })
  })
})

test('a copy is named after the counts', async () => {
  const directory = directoryWith({ [X(1)]: usedText(1) })
  identityOf(directory)
  const copy = async (from: string) => {
    const to = join(temporaryDirectory(), 'copy')
    // A copy has another time of birth, which is compared in tenths of a second.
    await setTimeout(200)
    cpSync(from, to, { recursive: true })
    return await statusOf(to)
  }
  expect(await statusOf(directory)).toMatchObject({ said: [], outcome: undefined })
  expect(await copy(directory)).toMatchObject({
    said: [expect.stringContaining('use only one')],
    outcome: undefined,
  })
  writeFileSync(join(directory, `__${X(2)}`), usedText(2))
  const ofUsed = await copy(directory)
  expect(ofUsed.rows()).toMatchObject([{ unused: 1, used: 1, identity: 'copy' }])
  expect(ofUsed.outcome).toBe('copy')
})

describe('a check with the key', () => {
  test('opens at most so many, names what can’t be used, and claims none', async () => {
    const directory = directoryOf(someProfiles(4))
    addProfile(directory, plainProfile(2), { k: 'short' })
    writeFileSync(join(directory, X(3)), '{}')
    const follow = (line: () => string) => void lines.push(line())
    const lines: string[] = []
    const { rows, said, outcome } = await statusOf(directory, { ...KEY, count: 3, progress: { follow } })
    expect(rows()).toMatchObject([
      { unused: 4, checked: 3, usable: 1, damaged: 1, unfit: 1, locked: 0, unreadable: 0 },
    ])
    expect(said).toEqual([
      expect.stringContaining(`${X(2)}: a device would reject it`),
      expect.stringContaining(X(3)),
    ])
    expect(lines).toEqual(['0 of 3 profiles checked'])
    expect(outcome).toBeUndefined()
  })

  test('says what newer devices and nRF firmware make of them', async () => {
    const directory = directoryOf(someProfiles(1))
    addProfile(directory, plainProfile(2), { kid: null })
    const one = await statusOf(directory, KEY)
    const nrf = 'nRF firmware rejects such a profile since the end of July 2026; other devices take it'
    expect([one.rows()[0].usable, one.said]).toEqual([2, [`1 profile without KIC or KID: ${nrf}`]])
    addProfile(directory, plainProfile(1), { kic: '', kid: '' })
    addProfile(directory, plainProfile(3), { puk: '123', kic: null })
    addProfile(directory, plainProfile(4), { smsc: '+' })
    writeFileSync(join(directory, X(5)), JSON.stringify({ iccid: iccid(1), profile: 'AAAA' }))
    const { rows, said, outcome } = await statusOf(directory, KEY)
    expect(rows()).toMatchObject([{ checked: 5, usable: 2, unfit: 2, damaged: 1, locked: 0 }])
    expect(said).toEqual([
      `${X(3)}: newer devices would reject it: the PUK has fewer than 4 characters`,
      `${X(4)}: a device would reject it: the SMSC does not have 1 to 20 digits`,
      `${X(5)}: its name does not match the ICCID in it, ${iccid(1)}`,
      `2 profiles without KIC or KID: ${nrf}`,
    ])
    expect(outcome).toBeUndefined()
  })

  test('fails if several are of another key, as next would if they were the first', async () => {
    const directory = directoryOf(someProfiles(8))
    const { publicKey } = inject('otherKeys')
    const replace = (n: number) =>
      writeFileSync(join(directory, X(n)), storedFile(plainProfile(n), publicKey))
    for (const n of [1, 2, 3, 4]) replace(n)
    expect(await statusOf(directory, KEY)).toMatchObject({ outcome: undefined })
    replace(5)
    const { rows, outcome } = await statusOf(directory, KEY)
    expect([outcome, rows()]).toMatchObject(['key', [{ usable: 3, locked: 5 }]])
  })

  test('fails if the key opens none, or none can be used', async () => {
    const directory = directoryOf(someProfiles(1))
    expect(await statusOf(directory, { keyPath: inject('otherKeys').privateKeyPath })).toMatchObject({
      outcome: 'key',
    })
    writeFileSync(join(directory, X(1)), '{}')
    const hint = 'the warnings say why, file by file'
    expect((await statusOf(directory, KEY)).failure).toMatchObject({
      message: `none of 1 checked profile in ${directory} can be used`,
      ...{ outcome: 'unusable', hint },
    })
    // One that can't be read now may be usable.
    symlinkSync(X(3), join(directory, X(3)))
    expect((await statusOf(directory, KEY)).failure).toMatchObject({
      message: `none of 2 checked profiles in ${directory} can be used`,
      ...{ outcome: 'disk', hint },
    })
    rmSync(join(directory, X(3)))
    // A profile that a device would reject was decrypted: the key is not the wrong one.
    addProfile(directory, plainProfile(1), { k: 'short' })
    writeFileSync(join(directory, X(2)), JSON.stringify({ iccid: iccid(2), profile: 'AAAA' }))
    expect(await statusOf(directory, KEY)).toMatchObject({ outcome: 'unusable' })
  })

  test('says so at the beginning if the key opens none of many', async () => {
    const keyPath = inject('otherKeys').privateKeyPath
    const { said, outcome } = await statusOf(directoryOf(someProfiles(65)), { keyPath })
    expect(said[0]).toBe(
      'the key decrypts none of the first profiles: it may be the wrong one; Ctrl-C ends this',
    )
    expect(said[21]).toContain("45 more can't be used")
    expect(outcome).toBe('key')
    // Where these are all, nothing else takes long.
    const all = await statusOf(directoryOf(someProfiles(64)), { keyPath })
    expect(all.said[0]).not.toContain('may be the wrong one')
  })

  test('finds none unused if stations take them meanwhile', async () => {
    const directory = directoryOf(someProfiles(2))
    const follow = () => {
      for (const n of [1, 2]) renameSync(join(directory, X(n)), join(directory, `__${X(n)}`))
    }
    expect(await statusOf(directory, { ...KEY, progress: { follow } })).toMatchObject({
      outcome: 'no-profiles',
    })
  })

  test('takes a directory with the name of a profile for a damaged one', async () => {
    const directory = temporaryDirectory()
    for (const name of [X(1), `__${X(2)}`]) mkdirSync(join(directory, name))
    expect(await statusOf(directory, KEY)).toMatchObject({ outcome: 'unusable' })
    const { said } = await statusOf(directory, { list: 'all' })
    expect(said).toContain(
      `__${X(2)}: it can't be read: it is a directory (EISDIR); whose it is is not known`,
    )
  })
})

describe('the list of devices', () => {
  test('has the last result of each, and can be of those that passed, or of the others', async () => {
    const directory = await directoryFor('SN-0', 'SN-1', 'SN-2')
    addResult(directory, 'SN-1', { result: 'fail', station: 'line-1', time: TIME })
    addResult(directory, 'SN-1', { result: 'pass', station: 'line-2', time: LATER })
    addResult(directory, 'SN-2', { result: 'fail', station: 'line-1', time: TIME, note: 'no answer' })
    const all = await statusOf(directory, { list: 'all' })
    const claim = { claimStation: 'line-1', claimTime: TIME, version: 1 }
    expect(all.rows()).toEqual([
      { device: 'SN-0', iccid: iccid(0), result: null, resultStation: null, resultTime: null, ...claim },
      {
        device: 'SN-1',
        iccid: iccid(1),
        result: 'pass',
        resultStation: 'line-2',
        resultTime: LATER,
        ...claim,
      },
      {
        device: 'SN-2',
        iccid: iccid(2),
        result: 'fail',
        resultStation: 'line-1',
        resultTime: TIME,
        ...claim,
      },
    ])
    expect(all.said).toEqual(['3 devices: 1 passed, 2 not passed'])
    const passed = await statusOf(directory, { list: 'passed' })
    expect(passed.rows().map(({ device }) => device)).toEqual(['SN-1'])
    const others = await statusOf(directory, { list: 'not-passed' })
    expect(others.rows().map(({ device }) => device)).toEqual(['SN-0', 'SN-2'])
  })

  test('begins with the oldest claim, and counts what names no device', async () => {
    const directory = directoryWith({
      [`__${X(1)}`]: usedText(1, { device: 'B', claimed: LATER }),
      [`__${X(2)}`]: usedText(2, { device: 'A' }),
      [`__${X(3)}`]: JSON.stringify({ iccid: iccid(3), profile: 'AAAA' }),
    })
    const { rows, said } = await statusOf(directory, { list: 'all' })
    expect(rows().map(({ device }) => device)).toEqual(['A', 'B'])
    expect(said).toEqual(['2 devices: 0 passed, 2 not passed', '1 used profile without a device'])
  })
})

test('the history of a device is its claim and its results, in order', async () => {
  const directory = await directoryFor('SN-0', 'SN-1')
  addResult(directory, 'SN-1', { result: 'fail', station: 'line-1', time: TIME, note: 'no answer' })
  addResult(directory, 'SN-1', { result: 'pass', station: 'line-2', time: LATER })
  const { rows, said } = await statusOf(directory, { devices: ['SN-1', 'SN-0', 'SN-1'] })
  const [first, second] = [
    { device: 'SN-1', iccid: iccid(1) },
    { device: 'SN-0', iccid: iccid(0) },
  ]
  const empty = { place: null, result: null, note: null, version: 1 }
  expect(rows()).toEqual([
    { ...empty, ...first, place: 'used', station: 'line-1', time: TIME },
    { ...empty, ...first, result: 'fail', station: 'line-1', time: TIME, note: 'no answer' },
    { ...empty, ...first, result: 'pass', station: 'line-2', time: LATER },
    { ...empty, ...second, place: 'used', station: 'line-1', time: TIME },
  ])
  expect(said).toEqual([])
})

test('what is not known is named after what is, and so is a twin', async () => {
  const directory = await directoryFor('SN-0')
  const { rows, said, failure } = await statusOf(directory, { devices: ['sn-0', 'SN-0'], iccids: [iccid(5)] })
  expect(rows()).toHaveLength(1)
  expect(said).toEqual(['device SN-0 is known, and spelled almost like sn-0'])
  expect(failure).toMatchObject({
    outcome: 'no-profiles',
    message: `no profile in ${directory} for device sn-0, ICCID ${iccid(5)}`,
  })
})

test('a profile is looked up in each place', async () => {
  const directory = directoryWith(EVERYWHERE)
  const { rows, said, outcome } = await statusOf(directory, {
    iccids: [1, 2, 3, 4, 5, 6, 7, 9].map((n) => iccid(n)),
  })
  const claim = { station: 'line-1', time: TIME }
  expect(rows()).toMatchObject([
    { iccid: iccid(1), place: 'unused', station: null },
    { iccid: iccid(2), place: 'used', ...claim },
    { iccid: iccid(3), place: 'held', device: 'SN-3', ...claim },
    { iccid: iccid(4), place: 'in transit', note: 'to /mnt/target' },
    { iccid: iccid(5), place: 'aside' },
    { iccid: iccid(6), place: 'used', ...claim },
    { iccid: iccid(7), place: 'coming', note: 'from a fetch' },
    { iccid: iccid(9), place: 'coming', note: 'from /mnt/stick' },
  ])
  expect(said).toEqual([expect.stringContaining(`${iccid(6)} was claimed by station line-1`)])
  expect(outcome).toBeUndefined()
  // What is not asked for is not spoken of.
  expect((await statusOf(directory, { iccids: [iccid(2)] })).said).toEqual([])
})

describe('what is used twice is shown twice, with a warning:', () => {
  const ofBoth = (directory: string, one: Partial<Inquiry>) =>
    Promise.all([statusOf(directory, { list: 'all' }), statusOf(directory, one)])

  test('a profile with two used files', async () => {
    const [one, other] = [`__${X(1)}`, `__${iccid(1)}F.json`]
    const directory = directoryWith({
      [one]: usedText(1, { device: 'A' }),
      [other]: usedText(1, { device: 'B' }),
    })
    for (const { rows, said } of await ofBoth(directory, { iccids: [iccid(1)] })) {
      expect(rows().map(({ device }) => device)).toEqual(['A', 'B'])
      expect(said.join()).toContain(
        `${iccid(1)} is used more than once: A (${one}), B (${other}); do not ship them`,
      )
    }
    expect((await statusOf(directory, { devices: ['B'] })).rows()).toHaveLength(2)
  })

  test('a profile that another device is recorded for', async () => {
    const directory = directoryWith({ [`__${X(1)}`]: usedText(1, { device: 'A' }) })
    await makeRecords(directory, [{ device: 'B', iccid: iccid(1) }])
    for (const { said } of await ofBoth(directory, { devices: ['B'] }))
      expect(said.join()).toContain(
        `${iccid(1)} is used more than once: B (its record), A (__${X(1)}); do not ship them`,
      )
    addResult(directory, 'B', { result: 'pass', station: 'line-1', time: LATER })
    expect((await statusOf(directory, { list: 'passed' })).text).toBe('')
  })

  test('a device with two profiles', async () => {
    const directory = await directoryFor('A', 'A')
    for (const { rows, said } of await ofBoth(directory, { devices: ['A'] })) {
      expect(rows().map(({ iccid: each }) => each)).toEqual([iccid(0), iccid(1)])
      expect(said).toContain(`device A has more than one profile: ${iccid(0)}, ${iccid(1)}; do not ship it`)
    }
    addResult(directory, 'A', { result: 'pass', station: 'line-1', time: LATER })
    expect((await statusOf(directory, { list: 'passed' })).text).toBe('')
  })
})

test('of many, the first twenty are warnings, and what the others are is said', async () => {
  const many = Array.from({ length: 21 }, (_, n) => n)
  const of = (make: (n: number) => [name: string, text: string][]) =>
    directoryWith(Object.fromEntries(many.flatMap(make)))
  const saidOf = async (directory: string, changes?: Partial<Inquiry>) =>
    (await statusOf(directory, changes)).said.filter((text) => text.includes('-v names them'))
  const tag = (n: number) => `${n + 10}${'a'.repeat(18)}`
  expect(await saidOf(of((n) => [[`${X(n)}.aside`, '']]))).toEqual([
    '1 more profiles are put aside; -v names them',
  ])
  const held = of((n) => [
    [`__${X(n)}`, usedText(n, { claim: tag(n) })],
    [`.${X(n)}~${tag(n)}`, usedText(n)],
  ])
  expect(await saidOf(held)).toEqual(['1 more profiles are perhaps not printed; -v names them'])
  const twice = of((n) => [
    [`__${X(n)}`, usedText(n, { device: `A${n}` })],
    [`__${iccid(n)}F.json`, usedText(n, { device: `B${n}` })],
  ])
  expect(await saidOf(twice, { list: 'all' })).toEqual([
    '1 more profiles are used more than once; -v names them',
  ])
  const rich = of((n) => [
    [`__${X(n)}`, usedText(n, { device: `A${n}` })],
    [`__${X(n + 50)}`, usedText(n + 50, { device: `A${n}` })],
  ])
  expect(await saidOf(rich, { list: 'all' })).toEqual([
    '1 more devices have more than one profile; -v names them',
  ])
  expect(
    await saidOf(
      of((n) => [[`__${X(n)}`, '{']]),
      { list: 'all' },
    ),
  ).toEqual(['1 more used files or records are odd; -v names them'])
})

test('a profile is found under each spelling of its name', async () => {
  for (const filler of ['', 'F', 'f']) {
    const directory = directoryWith({ [`${iccid(1)}${filler}.json`]: usedText(1) })
    expect((await statusOf(directory, { iccids: [iccid(1)] })).rows()).toMatchObject([{ place: 'unused' }])
  }
})

test('a damaged used file does not say that a profile is used twice', async () => {
  const other = `__${iccid(1)}F.json`
  const directory = directoryWith({ [`__${X(1)}`]: usedText(1, { device: 'A' }), [other]: '{' })
  const { said } = await statusOf(directory, { list: 'all' })
  expect(said).toEqual([
    '1 device: 0 passed, 1 not passed',
    `${other}: it is no profile; whose it is is not known`,
  ])
  // To somebody who asks for another one, it is not spoken of.
  expect((await statusOf(directory, { iccids: [iccid(9)] })).said).toEqual([])
})

test('a device that is only recorded, and whose profile a killed call holds', async () => {
  const directory = directoryWith({ [`.${X(1)}~${'a'.repeat(20)}`]: usedText(1) })
  await makeRecords(directory, [{ device: 'A', iccid: iccid(1) }])
  const { said } = await statusOf(directory, { devices: ['A'] })
  expect(said).toEqual([`device A is recorded for ${iccid(1)}, and no used file says so: scan it again`])
})

test('a device that is only recorded, and whose profile a move holds', async () => {
  const directory = directoryWith({ [`.${X(1)}~${MOVE}+${TAG}`]: usedText(1) })
  await makeRecords(directory, [{ device: 'A', iccid: iccid(1) }])
  const { said } = await statusOf(directory, { devices: ['A'] })
  expect(said).toEqual([`device A is recorded for ${iccid(1)}, and no used file says so: scan it again`])
})

test('a profile of a killed call that had decided to use it says for whom', async () => {
  const tag = 'a'.repeat(20)
  const files = { [`.${X(1)}~${tag}`]: usedText(1), [`.!${tag}`]: usedText(1, { device: 'A' }) }
  const { rows } = await statusOf(directoryWith(files), { iccids: [iccid(1)] })
  expect(rows()).toMatchObject([{ iccid: iccid(1), place: 'held', device: 'A' }])
})

test('a device that is only recorded', async () => {
  const directory = directoryWith({ [X(1)]: usedText(1) })
  await makeRecords(directory, [
    { device: 'A', iccid: iccid(1) },
    { device: 'B', iccid: iccid(2) },
  ])
  const { rows, said } = await statusOf(directory, { devices: ['A', 'B'] })
  expect(rows()).toMatchObject([
    { device: 'A', place: 'unused' },
    { device: 'B', place: null, note: 'only recorded: the profile is not here' },
  ])
  const byIccid = await statusOf(directory, { iccids: [iccid(2)] })
  expect(byIccid.rows()).toMatchObject([{ device: 'B', place: null, note: expect.stringMatching(/^only/) }])
  // Where a backup has not got the profile, nobody can do anything.
  expect(said).toEqual([`device A is recorded for ${iccid(1)}, and no used file says so: scan it again`])
})

test('a check with the key looks only at what a device gets by default: a wrong SMSP does no harm', async () => {
  const directory = directoryOf([])
  addProfile(directory, plainProfile(1), { smsp: 'short' })
  const { rows, outcome } = await statusOf(directory, KEY)
  expect([rows(), outcome]).toMatchObject([[{ checked: 1, usable: 1, unfit: 0 }], undefined])
})
