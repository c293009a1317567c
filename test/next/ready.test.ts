import { createPrivateKey } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { adviceOn } from '../../src/advice/advice.ts'
import { UnusableProfile } from '../../src/failure.ts'
import { decryptor } from '../../src/key/decrypt.ts'
import { type Format, makeReady, notHandedOut, type Source } from '../../src/next/ready.ts'
import { addProfile, directoryOf } from '../support/directory.ts'
import { iccid, plainProfile, storedFile } from '../support/profiles.ts'

const { privateKey, publicKey } = inject('keys')
const key = { object: createPrivateKey(privateKey), inFile: 1 }
const decrypt = await decryptor(key, 1)
const directory = directoryOf([])

const told: string[] = []
const sourceOf = (format: Format): Source => ({
  directory,
  key,
  format,
  options: { smsp: false, smsc: true, crc: true },
  messages: { warn: () => {}, tell: (level, text) => void told.push(`${level}: ${text}`) },
  signals: { stop: new AbortController().signal, hold: () => {} },
})

test('a file is read, which -vv tells; one that is gone is none', async () => {
  const name = addProfile(directory, plainProfile(1))
  expect(await makeReady(sourceOf('hex'), decrypt, name)).toMatchObject({ iccid: iccid(1), name })
  expect(told).toEqual([`2: reading ${name}`])
  expect(await makeReady(sourceOf('hex'), decrypt, 'gone.json')).toBeUndefined()
})

test('an ICCID is its digits, whatever its file is called', async () => {
  const sealed = storedFile({ ...plainProfile(2), iccid: `${iccid(2).slice(0, 19)}F` }, publicKey)
  const name = `${iccid(2).slice(0, 19)}F.json`
  writeFileSync(join(directory, name), sealed)
  expect((await makeReady(sourceOf('raw'), decrypt, name))?.iccid).toBe(iccid(2).slice(0, 19))
})

describe('a profile with a short PUK, which newer devices reject,', () => {
  const name = addProfile(directory, plainProfile(3), { puk: '123' })

  test('is refused where a device would get it', async () => {
    await expect(makeReady(sourceOf('hex'), decrypt, name)).rejects.toThrow(
      'newer devices would reject it: the PUK has fewer than 4 characters',
    )
  })

  test.each(['json', 'raw'] as const)('is taken as %s', async (format) => {
    expect(await makeReady(sourceOf(format), decrypt, name)).toMatchObject({ newerProblems: [] })
  })

  test('is taken if a device has had it, with its problems', async () => {
    const text = JSON.parse(readFileSync(join(directory, name), 'utf8'))
    const own = name.replace('.json', 'F.json')
    writeFileSync(join(directory, own), JSON.stringify({ ...text, device: 'D' }))
    expect(await makeReady(sourceOf('hex'), decrypt, own)).toMatchObject({
      newerProblems: ['the PUK has fewer than 4 characters'],
    })
  })
})

test('a profile without KIC and KID is taken, and they are named only where a device gets it', async () => {
  const name = addProfile(directory, plainProfile(4), { kic: null, kid: null })
  expect(await makeReady(sourceOf('hex'), decrypt, name)).toMatchObject({ missingKeys: ['KIC', 'KID'] })
  expect(await makeReady(sourceOf('json'), decrypt, name)).toMatchObject({ missingKeys: [] })
})

describe('one that was asked for by name', () => {
  const errorOf = (code: string) => Object.assign(new Error(code), { code, path: '/p/1.json' })
  const denied = errorOf('EACCES')

  test.each([
    ['damaged', undefined, 'unusable', /^copy the file from a backup/],
    ['unreadable', denied, 'disk', /^give this user permission to read \/p\/1\.json, then run the same /],
    ['unreadable', errorOf('EHOSTDOWN'), 'disk', /^connect the share, or check the disk, then run the same /],
    [
      'unreadable',
      errorOf('EMFILE'),
      'disk',
      /^raise the limit of open files \(ulimit -n\), then run the same /,
    ],
    ['unreadable', errorOf('EBUSY'), 'disk', /^close the other program, then run the same /],
    ['unfit', undefined, 'unusable', /^take another profile/],
    ['held', denied, 'disk', /^close the other program/],
    ['locked', undefined, 'key', /^use the RSA private key that matches/],
  ] as const)('is %s (%s): %s', (fault, cause, outcome, hint) => {
    const advice = adviceOn(notHandedOut('1.json', new UnusableProfile(fault, 'why', { cause }), key))
    expect(advice).toMatchObject({ outcome, message: "1.json can't be handed out: why" })
    expect(advice.hint).toMatch(hint)
  })
})
