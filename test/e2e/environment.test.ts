/** What the environment of an executable must not change. `dist/softsim.cjs` runs with a Node that may obey it. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { directoryOf, someProfiles, temporaryDirectory } from '../support/directory.ts'
import { softsim } from '../support/softsim.ts'
import { isRunByNode } from '../support/system.ts'

const { privateKeyPath: KEY } = inject('keys')
const place = temporaryDirectory()

function file(name: string, text: string): string {
  const path = join(place, name)
  writeFileSync(path, text)
  return path
}

const module = file('foreign.cjs', 'process._rawDebug("foreign code")\n')

/** A module that every way to look for one would find. */
function modules(): string {
  const path = join(place, 'modules')
  mkdirSync(join(path, 'clipanion'), { recursive: true })
  writeFileSync(join(path, 'clipanion', 'index.js'), 'process._rawDebug("foreign code")\n')
  return path
}

/** What OpenSSL's configuration says of a provider, which is a library. */
const provider = (settings: string) =>
  `nodejs_conf = a\n[a]\nproviders = b\n[b]\nforeign = c\n[c]\n${settings}`

describe.skipIf(isRunByNode)('an executable', () => {
  test.each<[string, Record<string, string>]>([
    ['that is no configuration', { OPENSSL_CONF: file('torn.cnf', 'nodejs_conf = a\n[a]\ntorn\n') }],
    [
      'with a section that is missing',
      { OPENSSL_CONF: file('odd.cnf', 'nodejs_conf = a\n[a]\nproviders = b\n') },
    ],
    [
      'with a library',
      {
        OPENSSL_CONF: file('library.cnf', provider(`module = ${join(place, 'foreign.so')}\nactivate = 1\n`)),
      },
    ],
  ])('ignores OPENSSL_CONF: a file %s', async (_, env) => {
    const run = await softsim(['next', '-k', KEY, '-i', directoryOf(someProfiles(1))], { env })
    expect(run).toMatchObject({ code: 0, stderr: '' })
  })

  test.each<[string, string]>([
    ['NODE_OPTIONS', `--require=${module}`],
    ['NODE_OPTIONS', '--no-such-option'],
    ['NODE_PATH', modules()],
    ['OPENSSL_MODULES', place],
    ['OPENSSL_ENGINES', place],
    ['PKG_EXECPATH', 'PKG_INVOKE_NODEJS'],
    ['DEBUG_PKG', '2'],
    ['NODE_TEST_CONTEXT', 'child'],
    ['NODE_UNIQUE_ID', '1'],
  ])('ignores %s=%s', async (name, value) => {
    const directory = directoryOf(someProfiles(1))
    const run = await softsim(['next', '-k', KEY, '-i', directory], { env: { [name]: value } })
    expect(run).toMatchObject({ code: 0, stderr: '' })
  })
})
