import {
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { pause } from '../../src/pause.ts'
import {
  disown,
  enter,
  identitiesOf,
  identityIn,
  identityOf,
  identityState,
  renewIdentity,
} from '../../src/store/identity.ts'
import { release, request } from '../../src/store/incoming.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { tellsBirth } from '../support/system.ts'

const stored = (n: number, more = {}) => JSON.stringify({ iccid: iccid(n), profile: 'AAAA', ...more })

/** A directory with an unused profile, and with these files. */
function directoryWith(files: Record<string, string> = {}): string {
  const directory = join(temporaryDirectory(), 'profiles')
  mkdirSync(directory)
  for (const [name, text] of Object.entries({ [`${iccid(9)}.json`]: stored(9), ...files }))
    if (name === '.devices') mkdirSync(join(directory, name, 'x'), { recursive: true })
    else writeFileSync(join(directory, name), text)
  return directory
}

function copyOf(directory: string): string {
  // What is closer is taken for the same.
  pause(8)
  const copy = join(temporaryDirectory(), 'copy')
  cpSync(directory, copy, { recursive: true, preserveTimestamps: true })
  return copy
}

/** @returns the warnings */
function entered(directory: string, forDevices = false): string[] {
  const warnings: string[] = []
  enter(directory, { warn: (text) => warnings.push(text) }, forDevices)
  return warnings
}

const USED = { [`__${iccid(1)}.json`]: stored(1, { claim: 'x', claimed: '2026-03-01T06:00:00Z' }) }
const USED_BY_OTHERS = { [`__${iccid(1)}.json`]: stored(1) }
const USED_BY_DEVICE = { [`__${iccid(1)}.json`]: stored(1, { claim: 'x', device: 'D' }) }
const refused = expect.objectContaining({ outcome: 'copy' })

describe('an identity', () => {
  test('is made once, and goes along when the directory gets another name', () => {
    const directory = directoryWith()
    expect(() => identityIn(directory)).toThrow(
      expect.objectContaining({
        ...{ outcome: 'disk', message: `${directory} is gone, or has lost .identity` },
        hint: 'check that its disk or its share is there, and run the same command again',
      }),
    )
    expect(identityState(directory)).toBe('none')
    entered(directory)
    const id = identityIn(directory)
    entered(directory, true)
    writeFileSync(join(directory, '.identity', '.DS_Store'), '')
    expect(identityOf(directory)).toBe(id)
    renameSync(directory, `${directory}-2`)
    expect([identityIn(`${directory}-2`), identityState(`${directory}-2`)]).toEqual([id, 'own'])
    expect(() => identityIn(directory)).toThrow(expect.objectContaining({ outcome: 'disk' }))
    expect(readdirSync(join(`${directory}-2`, '.claims'))).toEqual([])
  })

  test('that was renewed knows the ones before; an interrupted renewal leaves a copy', () => {
    const directory = directoryWith()
    const ids = [identityOf(directory)]
    writeFileSync(join(directory, '.identity', '~draft'), '')
    for (const _ of [1, 2]) {
      renewIdentity(directory)
      ids.unshift(identityIn(directory))
    }
    expect(identitiesOf(directory)).toEqual(ids)
    expect(readdirSync(join(directory, '.identity'))).toEqual([ids[0]])
    // The call was killed before it removed the old one.
    const place = join(directory, '.identity')
    writeFileSync(join(place, ids[1] ?? ''), JSON.stringify({ birth: '1', before: [] }))
    writeFileSync(join(directory, `__${iccid(1)}.json`), stored(1))
    expect(identityState(directory)).toBe(tellsBirth ? 'copy' : 'own')
    renewIdentity(directory)
    expect([readdirSync(place).length, identityState(directory)]).toEqual([1, 'own'])
    expect(identitiesOf(directory)).toEqual(expect.arrayContaining(ids))
  })

  test.runIf(tellsBirth)(
    'was changed when it was born: a Samba that stores no birth tells the oldest time',
    () => {
      const directory = directoryWith()
      identityOf(directory)
      renewIdentity(directory)
      const path = join(directory, '.identity', identityIn(directory))
      const { birth } = JSON.parse(readFileSync(path, 'utf8'))
      const { mtimeNs } = lstatSync(path, { bigint: true })
      expect(Math.abs(Number(mtimeNs - BigInt(birth)))).toBeLessThan(2000)
    },
  )

  test('of a directory without one is made by its renewal', () => {
    const directory = directoryWith()
    renewIdentity(directory)
    expect(identitiesOf(directory)).toEqual([identityIn(directory)])
  })
})

const SECOND = 1_000_000_000n

/** What the file says, by what is true. */
type Said = (birth: bigint) => object

const JUDGED: [words: string, isCopy: boolean, Said][] = [
  ['an older time', true, (birth) => ({ birth: birth - SECOND / 5n })],
  ['a copy that is made at once', true, (birth) => ({ birth: birth - SECOND / 10_000n })],
  ['a copy that is made at once, of a later file', true, (birth) => ({ birth: birth + SECOND / 10_000n })],
  ['a later time: the copy has that of an older file', true, (birth) => ({ birth: birth + SECOND })],
  ['fewer digits over SMB', false, (birth) => ({ birth: birth - 99n })],
  ['a disk that does not tell the birth', false, () => ({ birth: 0n })],
  ['coarse times, on a stick', true, (birth) => ({ birth: birth - (birth % SECOND) - SECOND })],
  ['nothing, on a stick', true, () => ({})],
]

test.runIf(tellsBirth).each(JUDGED)('%s: a copy is %s', (_, isCopy, said) => {
  const directory = directoryWith(USED)
  const path = join(directory, '.identity', identityOf(directory))
  const { birthtimeNs } = lstatSync(path, { bigint: true })
  const text = Object.entries(said(birthtimeNs)).map(([name, value]) => [name, String(value)])
  writeFileSync(path, JSON.stringify(Object.fromEntries(text)))
  expect(identityState(directory)).toBe(isCopy ? 'copy' : 'own')
})

describe.runIf(tellsBirth)('a copy', () => {
  test.each([
    ['used', USED],
    ['held by a call', { [`.${iccid(1)}.json~${'a'.repeat(20)}`]: stored(1) }],
    ['put aside', { [`${iccid(1)}.json.aside`]: stored(1) }],
    ['known to be of a device', { '.devices': 'a directory' }],
    ['known to have left', { '.outgoing': 'a directory' }],
  ])('of a directory in which something is %s is refused, and stays as it is', (_, files) => {
    const directory = directoryWith(files)
    identityOf(directory)
    entered(directory)
    const copy = copyOf(directory)
    for (const forDevices of [false, true]) expect(() => entered(copy, forDevices)).toThrow(refused)
    expect([identityState(copy), identityState(directory)]).toEqual(['copy', 'own'])
    expect(identityIn(copy)).toBe(identityIn(directory))
    entered(directory)
  })

  test('of a directory that was not used works, says it once, and is another directory', () => {
    const directory = directoryWith()
    entered(directory)
    const copy = copyOf(directory)
    expect(identityState(copy)).toBe('unused-copy')
    expect(entered(copy)).toEqual([expect.stringContaining('copy is a copy: do not use')])
    expect([entered(copy), identityState(copy)]).toEqual([[], 'own'])
    expect(identitiesOf(copy)).toEqual([identityIn(copy), identityIn(directory)])
    expect(identityIn(copy)).not.toBe(identityIn(directory))
  })
})

test.runIf(tellsBirth)(
  'a disowned directory is a copy, also if a killed renewal has left two identities',
  () => {
    const directory = directoryWith(USED)
    const [place, kept] = [join(directory, '.identity'), join(directory, 'kept')]
    const id = identityOf(directory)
    renameSync(join(place, id), kept)
    identityOf(directory)
    renameSync(kept, join(place, id))
    expect([readdirSync(place).length, identityState(directory)]).toEqual([2, 'own'])
    disown(directory)
    expect(identityState(directory)).toBe('copy')
  },
)

test.skipIf(!tellsBirth)(
  'a backup that is unpacked over another directory is a copy, until it is restored',
  () => {
    const backup = directoryWith()
    entered(backup)
    writeFileSync(join(backup, `__${iccid(1)}.json`), stored(1, { claim: 'x' }))
    const directory = directoryWith()
    entered(directory)
    // What is closer is taken for the same.
    pause(150)
    cpSync(backup, directory, { recursive: true, preserveTimestamps: true })
    expect(() => entered(directory)).toThrow(refused)
    renewIdentity(directory)
    expect(entered(directory)).toEqual([])
    // The same backup once more.
    cpSync(backup, directory, { recursive: true, preserveTimestamps: true })
    expect(() => entered(directory)).toThrow(refused)
  },
)

test('a copy without hidden files is one if it was used', () => {
  const directory = directoryWith(USED)
  expect(identityState(directory)).toBe('copy')
  expect(() => entered(directory)).toThrow(/is a copy, or came back from a backup/)
  // Also when a fetch has made hidden files.
  release(directory, request(directory, 1))
  expect(() => entered(directory)).toThrow(refused)
})

test('a copy without hidden files is one also if other tools used most: the first 50 and the last 50 are read', () => {
  const used = Array.from({ length: 150 }, (_, n) => [`__${iccid(n + 1)}.json`, stored(n + 1)])
  const directory = directoryWith(Object.fromEntries(used))
  const states = [1, 50, 51, 100, 101, 150].map((own) => {
    const path = join(directory, `__${iccid(own)}.json`)
    writeFileSync(path, stored(own, { claim: 'x' }))
    const state = identityState(directory)
    writeFileSync(path, stored(own))
    return state
  })
  expect(states).toEqual(['copy', 'copy', 'none', 'none', 'copy', 'copy'])
})

describe('a directory that has lost the records of devices', () => {
  test('is refused, for devices, or if it has lost all hidden files', () => {
    const directory = directoryWith(USED_BY_DEVICE)
    expect(identityState(directory)).toBe('copy')
    expect(() => entered(directory)).toThrow(refused)
    identityOf(directory)
    entered(directory)
    expect(() => entered(directory, true)).toThrow(/has lost .devices/)
    mkdirSync(join(directory, '.devices'))
    expect(entered(directory, true)).toEqual([])
  })

  test('is none if its used files name no device, or are damaged', () => {
    const directory = directoryWith({ ...USED_BY_OTHERS, [`__${iccid(2)}.json`]: '{' })
    mkdirSync(join(directory, `__${iccid(3)}.json`))
    expect(entered(directory, true)).toEqual([])
    rmSync(join(directory, '.identity'), { recursive: true })
    expect(entered(directory, true)).toEqual([])
  })
})

test('a directory that is not there is no copy', () => {
  expect(() => entered(join(temporaryDirectory(), 'missing'))).toThrow(
    expect.objectContaining({ outcome: 'no-profiles' }),
  )
})
