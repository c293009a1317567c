/**
 * Many stations, four fetches and two moves to and from another directory at one directory, some of them killed at random,
 * the hint deleted and spoilt. Once more, through two mounts of one directory by sshfs: stations on two machines that
 * share a server.
 */

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Crew } from './crew.ts'
import { noteMounted, unmountPath } from './image.ts'
import { Ledger } from './ledger.ts'
import { look } from './sight.ts'
import { Violation } from './tally.ts'
import type { Works } from './works.ts'

const STATIONS = 16
const PROFILES = 500
const FETCHES = 4
const MOVES = 2
const RISK = 0.12

/** In a directory that somebody has given. */
const NAME = `softsim-race-${process.pid}`

/**
 * Races until the time is over, once at least.
 * @param given the same directory as each station sees it; none for one on a disk of this machine
 */
export async function race(works: Works, until: number, given?: readonly string[]): Promise<undefined> {
  do {
    const [first = works.newPath(), ...more] = given?.map((each) => join(each, NAME)) ?? []
    // It may be somebody's share: nothing stays there, also when it is interrupted.
    const remove = () => rmSync(first, { recursive: true, force: true, maxRetries: 5 })
    process.once('exit', remove)
    await raceOnce(works, first, [first, ...more])
    works.tally.add('races')
    remove()
    process.off('exit', remove)
  } while (performance.now() < until)
}

/**
 * @param directory where it is looked at, and first of all filled
 * @param names by which the stations know it: each has one of them
 * @throws {Violation}
 */
async function raceOnce(works: Works, directory: string, names: readonly string[]) {
  const filled = await works.fetch(directory, PROFILES)
  if (filled.code !== 0) throw new Violation(`fetch ended with ${filled.code}: ${filled.stderr}`)
  const ledger = new Ledger()
  ledger.keep(look(directory).unused)
  const crew = new Crew(works, ledger)
  const all = <T>(count: number, work: (name: string) => T) =>
    Array.from({ length: count }, (_, at) => work(names[at % names.length] ?? directory))
  const apart = works.newPath()
  const busy = [
    ...all(MOVES, (name) => crew.moving([name, apart], { risk: RISK })),
    ...all(FETCHES, (name) => crew.fetching(name, { risk: RISK })),
    ...all(STATIONS, (name) => crew.station(name, { risk: RISK })),
    crew.spoiling(directory),
  ]
  // They must come to an end, so the service does first.
  await sleep(works.random.whole(2000, 5000))
  crew.isOn = false
  await Promise.all(busy)
  await crew.finishMoves([directory, apart])
  await ledger.finish(works, [directory, apart], crew.atStake)
  works.tally.add('claimed and not printed', ledger.stuck([directory, apart]).length)
  works.tally.add('kills', crew.kills)
  ledger.end('race', [directory, apart].map((each) => dirname(each)).join(' and '))
}

/** Where systems have it: of Debian, of Red Hat, of Arch. */
const SERVER = ['openssh', 'ssh'].map((name) => `/usr/lib/${name}/sftp-server`)
const SFTP = [...SERVER, '/usr/libexec/openssh/sftp-server'].find(existsSync)

const MOUNTS = 2

/** Why there can be no mounts by sshfs here; undefined where there can. */
export function whyNoSshfs(): string | undefined {
  if (spawnSync('sshfs', ['--version']).error !== undefined) return 'there is no sshfs'
  if (SFTP === undefined) return 'there is no sftp-server'
  return existsSync('/dev/fuse') ? undefined : 'there is no FUSE'
}

/**
 * Races until the time is over, once at least.
 * @returns why it can't mount anything
 */
export async function sshfs(works: Works, until: number): Promise<string | undefined> {
  const root = join(works.root, 'sshfs')
  const shared = join(root, 'shared')
  mkdirSync(shared, { recursive: true })
  // Each mount has a server of its own on this machine, and no connection between them: so it needs no keys.
  const server = join(root, 'server')
  writeFileSync(server, `#!/bin/sh\nexec ${SFTP}\n`, { mode: 0o700 })
  const mounts = Array.from({ length: MOUNTS }, (_, at) => join(root, `mount${at}`))
  try {
    for (const path of mounts) {
      mkdirSync(path)
      const line = ['-o', `ssh_command=${server}`, `server:${shared}`, path]
      const { status, stderr } = spawnSync('sshfs', line, { encoding: 'utf8', timeout: 10_000 })
      if (status !== 0) return `sshfs can't mount: ${stderr.trim()}`
      noteMounted(path)
    }
    do {
      const name = `profiles${works.tally.of('races over sshfs')}`
      const names = mounts.map((path) => join(path, name))
      await raceOnce(works, join(shared, name), names)
      works.tally.add('races over sshfs')
    } while (performance.now() < until)
    return undefined
  } finally {
    mounts.forEach(unmountPath)
  }
}
