import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/directory.ts'

const BIOME = resolve('node_modules', '@biomejs', 'biome', 'bin', 'biome')

interface Diagnostic {
  location: { path: string; start: { line: number } }
}

/** Those of the imports that lint refuses. */
function refused(imports: readonly (readonly [path: string, specifier: string])[]): string[] {
  const root = temporaryDirectory()
  const config = { ...JSON.parse(readFileSync('biome.json', 'utf8')), vcs: { enabled: false } }
  writeFileSync(join(root, 'biome.json'), JSON.stringify(config))
  const specifiers = Map.groupBy(imports, ([path]) => path)
  for (const [path, each] of specifiers) {
    mkdirSync(join(root, dirname(path)), { recursive: true })
    writeFileSync(join(root, path), each.map(([, specifier]) => `import '${specifier}'\n`).join(''))
  }
  const only = ['--only=style/noRestrictedImports', '--max-diagnostics=none', '--reporter=json', '.']
  const { stdout } = spawnSync(process.execPath, [BIOME, 'lint', ...only], { cwd: root, encoding: 'utf8' })
  const { diagnostics }: { diagnostics: Diagnostic[] } = JSON.parse(stdout)
  return diagnostics.map(({ location: { path, start } }) =>
    shown(specifiers.get(path)?.[start.line - 1] ?? [path, `line ${start.line}`]),
  )
}

/** The imports of files, one by one. */
const pairs = (imports: Record<string, string>) =>
  Object.entries(imports).flatMap(([path, all]) =>
    all.split(' ').map((specifier) => [path, specifier] as const),
  )

/** What a room must not know. */
const FORBIDDEN = pairs({
  'src/failure.ts': './words.ts',
  'src/words.ts': 'node:fs',
  'src/main.ts': './next/next.ts',
  'src/cli/report.ts': '../service/client.ts ../store/claims.ts',
  'src/cli/help.ts': 'node:crypto',
  'src/fetch/fetch.ts':
    '../cli/report.ts ../next/next.ts undici ../move/move.ts ../key/private-key.ts node:fs',
  'src/next/take.ts': '../store/claims.ts ../move/move.ts ../cli/report.ts ../service/client.ts',
  'src/station/station.ts': '../store/devices.ts ../fetch/fetch.ts ../status/status.ts',
  'src/move/move.ts': '../cli/report.ts ../next/next.ts ../key/private-key.ts ../restore/restore.ts',
  'src/restore/restore.ts': '../store/receipts.ts ../status/status.ts node:fs',
  'src/status/status.ts': '../move/move.ts ../next/next.ts ../cli/report.ts ../service/client.ts',
  'src/service/client.ts': '../store/directory.ts node:fs ../key/private-key.ts',
  'src/store/claims.ts':
    '../service/client.ts undici/lib/api/index.js ../key/private-key.ts ../cli/report.ts',
  'src/profile/hex.ts': '../store/directory.ts ../key/private-key.ts ../cli/report.ts node:fs',
  'src/key/private-key.ts': '../store/directory.ts ../profile/hex.ts',
})

const ALLOWED = pairs({
  'src/main.ts': './cli/run.ts',
  'src/cli/commands/next-command.ts': '../../next/next.ts ../../key/private-key.ts',
  'src/fetch/fetch.ts': '../service/client.ts ../store/directory.ts',
  'src/next/take.ts': '../store/directory.ts ../profile/check.ts',
  'src/station/station.ts': '../store/directory.ts ../next/next.ts',
  'src/move/move.ts': '../store/directory.ts',
  'src/status/status.ts': '../key/private-key.ts ../profile/check.ts',
  'src/service/client.ts': 'undici ../profile/check.ts',
  'src/store/claims.ts': '../profile/check.ts node:fs',
})

const shown = ([path, specifier]: readonly [string, string]) => `${path} <- ${specifier}`

test('lint refuses exactly the imports that a room must not have', () => {
  expect(refused([...FORBIDDEN, ...ALLOWED]).sort()).toEqual(FORBIDDEN.map(shown).sort())
})
