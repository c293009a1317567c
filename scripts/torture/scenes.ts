/** The calls of the program that faults are put into, each with the directory it finds. */
import { cpSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { look } from './sight.ts'
import { traced } from './trace.ts'
import type { Works } from './works.ts'

/** Without the file by which a directory knows that it is a copy. */
export const AS_IT_WAS = { recursive: true, filter: (path: string) => !path.endsWith('.identity') }

export interface Scene {
  readonly name: string
  /** The directory it finds, to be copied; undefined where there is none yet. */
  readonly template: string | undefined
  readonly line: (directory: string) => string[]
  /** How many profiles it takes at most. */
  readonly takes: number
  /** A used profile that it prints again, because it was asked to. */
  readonly again?: string
  /** The devices that it is for: the same call, made again, must print the same. */
  readonly devices?: readonly string[]
  /** How many profiles each answer of the service brings, one after the other. */
  readonly answers: readonly number[]
}

/** More than any process has (PID_MAX_LIMIT in Linux): whoever put it aside is gone, however long this runs. */
const GONE = 4_999_999

/** Makes the directories that the scenes begin with. */
export async function makeScenes(works: Works): Promise<Scene[]> {
  const stocked = works.newPath()
  await works.fetch(stocked, 8)

  const hinted = works.newPath()
  cpSync(stocked, hinted, AS_IT_WAS)
  await works.next(hinted)
  const [used = ''] = look(hinted).used
  const [, unused = ''] = look(hinted).unused

  const owned = works.newPath()
  cpSync(hinted, owned, AS_IT_WAS)
  const usedBefore = look(owned).used
  await works.next(owned, '--device', 'SN 0')
  const ownedIccid = [...look(owned).used].find((iccid) => !usedBefore.has(iccid)) ?? ''

  const left = await leftover(works, stocked)
  const line = (...options: string[]) => ({
    line: (directory: string) => works.nextLine(directory, ...options),
    answers: [],
  })
  const forDevices = (...devices: string[]) => ({
    ...line(...devices.flatMap((device) => ['--device', device])),
    devices,
  })
  const fetch = (...answers: number[]) => ({
    line: (directory: string) => works.fetchLine(directory, sum(answers)),
    takes: 0,
    answers,
  })
  return [
    { name: 'next', template: stocked, takes: 1, ...line() },
    { name: 'next with a hint', template: hinted, takes: 1, ...line() },
    { name: 'next -n 5', template: hinted, takes: 5, ...line('-n', '5') },
    { name: 'next --iccid, unused', template: hinted, takes: 1, ...line('--iccid', unused) },
    { name: 'next --iccid, used', template: hinted, takes: 1, again: used, ...line('--iccid', used) },
    { name: 'next --device', template: hinted, takes: 1, ...forDevices('SN 1') },
    { name: 'next --device, again', template: owned, takes: 0, again: ownedIccid, ...forDevices('SN 0') },
    {
      name: 'next --device, a panel',
      template: owned,
      takes: 2,
      again: ownedIccid,
      ...forDevices('SN 1', 'SN 0', 'SN 2'),
    },
    { name: 'next after a killed fetch', template: left, takes: 1, ...line() },
    { name: 'fetch, no directory yet', template: undefined, ...fetch(6) },
    { name: 'fetch, more', template: hinted, ...fetch(5) },
    { name: 'fetch, two answers', template: stocked, ...fetch(4, 2) },
    { name: 'fetch, enough for one flush of all', template: hinted, ...fetch(80) },
    { name: 'fetch after a killed fetch', template: left, ...fetch(3) },
  ]
}

/** What a fetch that was killed amid publishing leaves; of what it had published, one profile is used since. */
async function leftover(works: Works, stocked: string): Promise<string> {
  const directory = works.newPath()
  cpSync(stocked, directory, AS_IT_WAS)
  const there = look(directory).unused
  // The first one makes an answer of the reserve.
  const injection = { syscall: 'rename,renameat,renameat2', when: 4, effect: 'signal=SIGKILL' } as const
  await works.fetch(directory, 5, { under: traced('/dev/null', injection) })
  const incoming = join(directory, '.incoming')
  for (const name of readdirSync(incoming)) {
    renameSync(join(incoming, name), join(incoming, name.replace(/~\d+~/, `~${GONE}~`)))
  }
  const published = [...look(directory).unused].find((iccid) => !there.has(iccid))
  if (published === undefined) throw new Error('the killed fetch has published nothing')
  renameSync(join(directory, `${published}.json`), join(directory, `__${published}.json`))
  return directory
}

/** Tells the service to give as many profiles an answer as the scene says. */
export function rig(works: Works, { answers }: Scene): void {
  let asked = sum(answers)
  for (const size of answers) {
    works.service.fault(size < asked ? { kind: 'short', by: asked - size } : { kind: 'none' })
    asked -= size
  }
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)
