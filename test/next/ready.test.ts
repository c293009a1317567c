import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { adviceOn } from '../../src/advice/advice.ts'
import { UnusableProfile } from '../../src/failure.ts'
import { makeReady, told as orTold } from '../../src/next/ready.ts'
import { addProfile, directoryOf } from '../support/directory.ts'
import { iccid, plainProfile, storedFile } from '../support/profiles.ts'
import { key, source } from './lot.ts'

const directory = directoryOf([])
const told: string[] = []
const tell = (level: number, text: string) => void told.push(`${level}: ${text}`)
const call = source(undefined, { directory, format: 'hex', messages: { warn() {}, tell } })

test('a file is read, which -vv tells; one that is gone is none', async () => {
  const name = addProfile(directory, plainProfile(1))
  expect(await makeReady(call, name)).toMatchObject({ iccid: iccid(1), name })
  expect(told).toEqual([`2: reading ${name}`])
  expect(await makeReady(call, 'gone.json')).toBeUndefined()
})

test('an ICCID is its digits, whatever its file is called', async () => {
  const filled = `${iccid(2).slice(0, 19)}F`
  const sealed = storedFile({ ...plainProfile(2), iccid: filled }, inject('keys').publicKey)
  const name = `${filled}.json`
  writeFileSync(join(directory, name), sealed)
  expect((await makeReady(call, name))?.iccid).toBe(iccid(2).slice(0, 19))
})

describe('one that was asked for by name', () => {
  const errorOf = (code: string) => Object.assign(new Error(code), { code, path: '/p/1.json' })
  const denied = errorOf('EACCES')
  const OPEN_FILES = /^raise the limit of open files \(ulimit -n\), then run the same /

  test.each([
    ['damaged', undefined, 'unusable', /^copy the file from a backup/],
    ['unreadable', denied, 'disk', /^give this user permission to read \/p\/1\.json .*, then run the same /],
    ['unreadable', errorOf('EHOSTDOWN'), 'disk', /^connect the share, or check the disk, then run the same /],
    ['unreadable', errorOf('EMFILE'), 'disk', OPEN_FILES],
    ['unreadable', errorOf('EBUSY'), 'disk', /^close the other program, then run the same /],
    ['unfit', undefined, 'unusable', /^take another profile/],
    ['held', denied, 'disk', /^close the other program/],
    ['locked', undefined, 'key', /^use the RSA private key that matches/],
  ] as const)('is %s (%s): %s', async (fault, cause, outcome, hint) => {
    const error = new UnusableProfile(fault, 'why', { cause })
    const advice = await orTold(key, { name: '1.json' }, () => Promise.reject(error)).catch(adviceOn)
    expect(advice).toMatchObject({ outcome, message: "1.json can't be handed out: why" })
    expect(advice.hint).toMatch(hint)
  })
})
