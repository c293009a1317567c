/** The races once more, through two mounts of one directory by sshfs: stations on two machines that share a server. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { raceClaims } from './claim.ts'
import { noteMounted, unmountPath } from './image.ts'
import { raceOnce } from './race.ts'
import type { Tally } from './tally.ts'
import type { Works } from './works.ts'

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
 * Races claims once, and the program until the time is over, once at least.
 * @returns why it can't mount anything
 */
export async function sshfs(works: Works, tally: Tally, until: number): Promise<string | undefined> {
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
    await raceClaims(works, tally, 0, mounts)
    do {
      const name = `profiles${tally.of('races over sshfs')}`
      const names = mounts.map((path) => join(path, name))
      await raceOnce(works, tally, { directory: join(shared, name), names })
      tally.add('races over sshfs')
    } while (performance.now() < until)
    return undefined
  } finally {
    mounts.forEach(unmountPath)
  }
}
