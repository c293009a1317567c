/** Four profiles in a directory, and calls of `next` for them. */
import { createPrivateKey } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, inject } from 'vitest'
import { decryptor } from '../../src/key/decrypt.ts'
import type { Source } from '../../src/next/ready.ts'
import type { Taken } from '../../src/next/take.ts'
import { usedText } from '../../src/store/claim.ts'
import { directoryOf, namesIn, someProfiles } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { leaveClaim } from '../support/store.ts'

export const key = { object: createPrivateKey(inject('keys').privateKey), inFile: 1 }
const decrypt = await decryptor(key, 1)

export let directory = ''
/** The warnings of the calls of a test. */
export const said: string[] = []
beforeEach(() => {
  directory = directoryOf(someProfiles(4))
  said.length = 0
})

/** @param number how often the profile has come to the directory */
export const unused = (n: number, number = 1) => `${iccid(n)}${number === 1 ? '' : `.${number}`}.json`
export const used = (n: number, number = 1) => `__${unused(n, number)}`
export const path = (name: string) => join(directory, name)
export const read = (name: string) => readFileSync(path(name), 'utf8')
export const write = (name: string, text: string) => writeFileSync(path(name), text)
export const names = () => namesIn(directory)

export const textFor = (device: string | undefined, n: number) =>
  usedText({ name: unused(n), stored: read(unused(n)) }, device)

export const decide = (key: string, text: string) => leaveClaim(directory, key, text)

/** @param beforeClaim what happens when the profiles are ready and nothing is claimed yet */
export function source(beforeClaim: () => void = () => {}, changes: Partial<Source> = {}): Source {
  const options = { smsp: false, smsc: true, crc: false }
  const signals = { stop: new AbortController().signal, beforeClaim }
  const messages = { warn: (text: string) => void said.push(text), tell() {} }
  return { directory, key, decrypt, options, format: 'raw', messages, signals, ...changes }
}

export const iccidsOf = async (taking: Promise<Taken>) => (await taking).taken.map(({ iccid }) => iccid)
