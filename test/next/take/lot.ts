/** Four profiles on the disk in memory, and calls of `next --device` for them. */
import { createPrivateKey } from 'node:crypto'
import { join } from 'node:path'
import { inject } from 'vitest'
import { Report } from '../../../src/cli/report.ts'
import type { Source } from '../../../src/next/ready.ts'
import { takeForDevices } from '../../../src/next/take/for-devices.ts'
import { flushDirectorySync } from '../../../src/store/flush/directory.ts'
import { flushPath } from '../../../src/store/flush/files.ts'
import { usedName } from '../../../src/store/names.ts'
import { deviceIn } from '../../../src/store/use.ts'
import { format, fs, live, ROOT } from '../../store/disk.ts'
import { diskSync } from '../../store/disk-fs.ts'
import { iccid, plainProfile, storedFile } from '../../support/profiles.ts'

const { privateKey, publicKey } = inject('keys')
const key = { object: createPrivateKey(privateKey), inFile: 1 }
export const stored = new Map([1, 2, 3, 4].map((n) => [n, storedFile(plainProfile(n), publicKey)]))

export const directory = join(ROOT, 'profiles')
export const unused = (n: number) => `${iccid(n)}.json`
export const used = (n: number) => `__${unused(n)}`
export const path = (name: string) => join(directory, name)
export const read = (name: string) => String(fs.readFileSync(path(name)))
export const names = () => fs.readdirSync(directory).map(String)
export const usedNames = () => names().filter((name) => name.startsWith('__'))

/** @param beforeClaim what happens when the profiles are ready and nothing is claimed yet */
export function source(beforeClaim: () => void = () => {}): Source {
  const options = { smsp: false, smsc: true, crc: false }
  const signals = { stop: new AbortController().signal, hold: beforeClaim }
  return { directory, key, options, format: 'raw', messages: new Report(() => {}), signals }
}

/** As `next --device` does, up to the moment when it prints. */
export async function handOut(...devices: string[]): Promise<string[]> {
  const { taken } = await takeForDevices(source(), devices)
  for (const { name } of taken) await flushPath(path(usedName(name)))
  flushDirectorySync(directory)
  return taken.map(({ line }) => JSON.parse(line).iccid)
}

/** Makes it so that a call was cut off before it could claim its profile, and that another call took that one. */
export function giveAway(n: number): void {
  diskSync.unlinkSync(path(used(n)))
  diskSync.writeFileSync(path(used(n)), stored.get(n) ?? '')
  flush(path(used(n)))
}

export function flush(file: string): void {
  const opened = diskSync.openSync(file, 'r')
  diskSync.fsyncSync(opened)
  diskSync.closeSync(opened)
}

/** Begins with four profiles that are durable. */
export function begin(disk = {}): void {
  format(disk)
  live()
  diskSync.mkdirSync(directory)
  for (const [n, text] of stored) {
    diskSync.writeFileSync(path(unused(n)), text)
    flush(path(unused(n)))
  }
  flush(directory)
  flush(ROOT)
}

/**
 * The devices that have a profile, each as often as it has one; '' for a profile that no device has. A crash can leave
 * one used file beside its unused one, which no call prints: it is set aside.
 */
export const owners = () =>
  usedNames()
    .filter((name) => !names().includes(name.slice(2)))
    .map((name) => deviceIn(read(name)) ?? '')
