import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { DEFINITIONS } from '../support/commands.ts'
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
  'src/pause.ts': './words.ts',
  'src/words.ts': 'node:fs',
  'src/main.ts': './next/hand-out.ts',
  'src/advice/hints.ts': '../cli/report.ts ../store/claim.ts',
  'src/cli/report.ts': '../service/client.ts ../key/decrypt.ts',
  'src/cli/commands/next-command.ts': '../../store/claim.ts ../../profile/iccid.ts',
  'src/cli/help.ts': 'node:crypto',
  'src/fetch/fetch.ts': '../cli/report.ts ../next/hand-out.ts undici ../move/move.ts ../key/decrypt.ts',
  'src/fetch/download.ts': 'node:fs',
  'src/move/move.ts':
    '../cli/report.ts ../next/hand-out.ts ../service/client.ts node:fs ../restore/restore.ts',
  'src/restore/restore.ts': '../next/hand-out.ts ../status/status.ts',
  'src/next/search.ts': '../move/move.ts ../cli/report.ts ../fetch/fetch.ts ../service/client.ts',
  'src/status/status.ts': '../move/move.ts ../next/hand-out.ts ../cli/report.ts ../service/client.ts',
  'src/service/client.ts':
    '../store/claim.ts ../profile/formats.ts node:fs ../key/decrypt.ts ../advice/shell.ts',
  'src/store/claim.ts':
    '../service/client.ts ../profile/formats.ts undici/lib/api/index.js ../key/decrypt.ts ../advice/exit-codes.ts',
  'src/store/incoming/add.ts': '../../next/hand-out.ts ../../profile/validate.ts',
  'src/profile/formats.ts': '../store/claim.ts ../key/decrypt.ts ../cli/report.ts node:fs',
  'src/next/hand-out.ts': '../status/status.ts',
  'src/key/decrypt.ts': '../store/claim.ts ../profile/formats.ts',
})

const ALLOWED = pairs({
  'src/main.ts': './cli/run.ts',
  'src/cli/report.ts': '../advice/advice.ts',
  'src/failure.ts': './advice/exit-codes.ts',
  'src/service/call-failure.ts': '../advice/exit-codes.ts',
  'src/cli/commands/next-command.ts': '../../next/hand-out.ts',
  'src/fetch/fetch.ts': '../service/client.ts',
  'src/move/move.ts': '../store/move-journal.ts',
  'src/restore/restore.ts': '../store/move-journal.ts',
  'src/status/count.ts': '../store/move-journal.ts',
  'src/next/search.ts': '../store/claim.ts',
  'src/service/response.ts': '../profile/iccid.ts',
  'src/status/status.ts': '../key/decrypt.ts ../profile/validate.ts',
  'src/store/incoming/answers.ts': '../../profile/iccid.ts',
  'src/service/client.ts': 'undici',
})

const shown = ([path, specifier]: readonly [string, string]) => `${path} <- ${specifier}`

describe('rooms', () => {
  test('lint refuses exactly the imports that a room must not have', () => {
    expect(refused([...FORBIDDEN, ...ALLOWED]).sort()).toEqual(FORBIDDEN.map(shown).sort())
  })

  test('the root has only shared files; no folder has more than 21 source files, and no file more than 400 lines', () => {
    const files = readdirSync('src', { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
    const inRoot = files.filter(({ parentPath }) => parentPath === 'src').map(({ name }) => name)
    const seen = inRoot.sort()
    expect(seen).toEqual(['failure.ts', 'full-path.ts', 'main.ts', 'pause.ts', 'secret.ts', 'words.ts'])
    const folders = new Map<string, number>()
    for (const { parentPath, name } of files) {
      // A page about a folder is not one of the files that a reader of the source has to know.
      if (!name.endsWith('.md')) folders.set(parentPath, (folders.get(parentPath) ?? 0) + 1)
      const lines = readFileSync(join(parentPath, name), 'utf8').split('\n').length - 1
      expect(lines, `${parentPath}/${name}`).toBeLessThanOrEqual(400)
    }
    expect([...folders].filter(([, count]) => count > 21)).toEqual([])
  })

  test('below cli/, no text names an option or a command: what a person types is chosen in advice/', () => {
    const options = DEFINITIONS.flatMap(({ values }) => [...values.keys()]).join('|')
    const commands = DEFINITIONS.map(({ name }) => name).join('|')
    const typed = RegExp(`(?<![\\w-])(?:${options})(?![\\w-])|\\b(?:softsim|run|see) (?:${commands})\\b`, 'g')
    const files = globSync('src/**/*.ts').filter((path) => !/^src.(?:advice.|cli.|main\.ts$)/.test(path))
    const found = files.flatMap((path) => {
      const code = readFileSync(path, 'utf8').replace(/^ *(\*|\/[/*]).*$/gm, '')
      return [...code.matchAll(typed)].map(([text]) => `${path}: ${text}`)
    })
    // An option of GNU's `sync`.
    expect(found).toEqual([join('src', 'store', 'flush', 'whole-file-system.ts: --version')])
  })
})
