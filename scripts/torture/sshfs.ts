/** The races once more, through two mounts of one directory by sshfs: stations on two machines that share a server. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { raceClaims } from './claim.ts'
import { noteMounted, unmountPath } from './image.ts'
import { raceOnce } from './race.ts'
import type { Tally } from './tally.ts'
import type { Works } from './works.ts'

const SSHD = ['/usr/sbin/sshd', '/usr/bin/sshd', '/usr/local/sbin/sshd'].find(existsSync)

/** Where sshd locks itself up; as root it wants it to be there, and no option names another place. */
const JAIL = '/run/sshd'

const MOUNTS = 2
const START_TRIES = 50
const START_PAUSE_MS = 100

/** Why there can be no mounts by sshfs here; undefined where there can. */
export function whyNoSshfs(): string | undefined {
  if (SSHD === undefined) return 'there is no sshd'
  if (spawnSync('sshfs', ['--version']).error !== undefined) return 'there is no sshfs'
  return existsSync('/dev/fuse') ? undefined : 'there is no FUSE'
}

/**
 * Races claims once, and the program until the time is over, once at least.
 * @returns why it can't mount anything
 */
export async function sshfs(works: Works, tally: Tally, until: number): Promise<string | undefined> {
  if (SSHD === undefined) return whyNoSshfs()
  const root = join(works.root, 'sshfs')
  mkdirSync(root)
  const port = await freePort()
  const madeJail = process.getuid?.() === 0 && mkdirSync(JAIL, { recursive: true }) !== undefined
  const server = startServer(SSHD, root, port)
  const mounts = Array.from({ length: MOUNTS }, (_, at) => join(root, `mount${at}`))
  try {
    for (const path of mounts) {
      const failed = await mount(root, port, path)
      if (failed !== undefined) return failed
    }
    await raceClaims(works, tally, 0, mounts)
    do {
      const name = `profiles${tally.of('races over sshfs')}`
      await raceOnce(works, tally, {
        directory: join(root, 'shared', name),
        names: mounts.map((path) => join(path, name)),
      })
      tally.add('races over sshfs')
    } while (performance.now() < until)
    return undefined
  } finally {
    for (const path of mounts) unmountPath(path)
    server.kill()
    if (madeJail) rmSync(JAIL, { recursive: true, force: true })
  }
}

/** A server of its own: its keys, its configuration, its port, on loopback only. */
function startServer(sshd: string, root: string, port: number): ChildProcess {
  mkdirSync(join(root, 'shared'))
  for (const name of ['host', 'user']) {
    spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(root, name)])
  }
  copyFileSync(join(root, 'user.pub'), join(root, 'authorized'))
  const configuration = join(root, 'sshd_config')
  writeFileSync(
    configuration,
    `Port ${port}
ListenAddress 127.0.0.1
HostKey ${join(root, 'host')}
AuthorizedKeysFile ${join(root, 'authorized')}
PidFile none
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
Subsystem sftp internal-sftp
`,
  )
  return spawn(sshd, ['-D', '-f', configuration, '-E', join(root, 'sshd.log')], { stdio: 'ignore' })
}

/** @returns why it can't be mounted */
async function mount(root: string, port: number, path: string): Promise<string | undefined> {
  mkdirSync(path)
  const options = [
    `IdentityFile=${join(root, 'user')}`,
    'IdentitiesOnly=yes',
    'BatchMode=yes',
    'StrictHostKeyChecking=no',
    'UserKnownHostsFile=/dev/null',
  ].flatMap((option) => ['-o', option])
  const from = `${userInfo().username}@127.0.0.1:${join(root, 'shared')}`
  let said = ''
  for (let tries = START_TRIES; tries > 0; tries--) {
    const line = ['-F', '/dev/null', '-p', String(port), ...options, from, path]
    const { status, stderr } = spawnSync('sshfs', line, { encoding: 'utf8', timeout: 10_000 })
    if (status === 0) {
      noteMounted(path)
      return undefined
    }
    said = stderr.trim()
    await sleep(START_PAUSE_MS)
  }
  return `sshfs can't mount: ${said}`
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
