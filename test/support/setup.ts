import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, realpathSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { type RsaKeyPair, rsaKeyPair } from './keys.ts'
import { isOtherSeed, seed } from './seed.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Everything the tests write is under this directory, which is in memory where that has room: they end sooner. */
    root: string
    /** The same on a disk, for tests of what is flushed: nothing in memory is. */
    disk: string
    /** The key pair that all tests share: making one of 4096 bits takes seconds. */
    keys: RsaKeyPair
    /** One that opens nothing of what these have encrypted. */
    otherKeys: RsaKeyPair
  }
}

/** Runs once, before all tests; what it returns runs after them. */
export default async function setup({ provide }: TestProject): Promise<() => void> {
  if (isOtherSeed) console.log(`SEED=${seed}`)
  const root = newRoot(hasRoomInMemory() ? MEMORY : tmpdir())
  const disk = newRoot(existsSync(DISK) ? DISK : tmpdir())
  provide('root', root)
  provide('disk', disk)
  const [keys, otherKeys] = await Promise.all([rsaKeyPair(root), rsaKeyPair(root)])
  provide('keys', keys)
  provide('otherKeys', otherKeys)
  return () => {
    for (const path of [root, disk]) rmSync(path, { recursive: true, force: true, maxRetries: 5 })
  }
}

const [MEMORY, DISK] = ['/dev/shm', '/var/tmp']

/** Its real path: on macOS /var is a link, and messages would show the other name. */
const newRoot = (place: string) => mkdtempSync(join(realpathSync(place), 'softsim-test-'))

/** Containers often have little memory for files there, and let no program be started from it. */
function hasRoomInMemory(): boolean {
  if (!existsSync(MEMORY)) return false
  const { bavail, bsize } = statfsSync(MEMORY)
  const place = newRoot(MEMORY)
  writeFileSync(join(place, 'program'), '#!/bin/sh\n', { mode: 0o755 })
  const isStarted = spawnSync(join(place, 'program')).status === 0
  rmSync(place, { recursive: true })
  return isStarted && bavail * bsize > 2 ** 30
}
