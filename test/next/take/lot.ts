/** Four profiles in a directory, and calls of `next` for them. */
import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, inject } from 'vitest'
import { Report } from '../../../src/cli/report.ts'
import type { Source } from '../../../src/next/ready.ts'
import { directoryOf, namesIn, someProfiles } from '../../support/directory.ts'
import { iccid } from '../../support/profiles.ts'

const key = { object: createPrivateKey(inject('keys').privateKey), inFile: 1 }

export let directory = ''
beforeEach(() => {
  directory = directoryOf(someProfiles(4))
})

/** @param number how often the profile has come to the directory */
export const unused = (n: number, number = 1) => `${iccid(n)}${number === 1 ? '' : `.${number}`}.json`
export const used = (n: number, number = 1) => `__${unused(n, number)}`
export const path = (name: string) => join(directory, name)
export const read = (name: string) => readFileSync(path(name), 'utf8')
export const names = () => namesIn(directory)

/** @param hold what happens when the profiles are ready and nothing is claimed yet */
export function source(hold: () => void = () => {}): Source {
  const options = { smsp: false, smsc: true, crc: false }
  const signals = { stop: new AbortController().signal, hold }
  return { directory, key, options, format: 'raw', messages: new Report(() => {}), signals }
}
