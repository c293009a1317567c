import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { type RsaKeyPair, rsaKeyPair } from './keys.ts'
import { isOtherSeed, seed } from './seed.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Everything the tests write is under this directory. */
    root: string
    /** The key pair that all tests share: making one of 4096 bits takes seconds. */
    keys: RsaKeyPair
    /** One that opens nothing of what these have encrypted. */
    otherKeys: RsaKeyPair
  }
}

/** Runs once, before all tests; what it returns runs after them. */
export default async function setup({ provide }: TestProject): Promise<() => void> {
  if (isOtherSeed) console.log(`SEED=${seed}`)
  // Its real path: on macOS /var is a link, and messages would show the other name.
  const root = mkdtempSync(join(realpathSync(tmpdir()), 'softsim-test-'))
  provide('root', root)
  const [keys, otherKeys] = await Promise.all([rsaKeyPair(root), rsaKeyPair(root)])
  provide('keys', keys)
  provide('otherKeys', otherKeys)
  return () => rmSync(root, { recursive: true, force: true, maxRetries: 5 })
}
