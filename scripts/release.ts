/**
 * Makes what a release offers from the binaries in dist/bin, all of it in dist/release: an archive for each, a list of
 * what they are made of (SBOM) and the checksums. dist/notes.md is the release's text. It needs GNU tar and zip.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { commitTime } from './package/commit-time.ts'
import { pagesFrom } from './package/pages.ts'

/** What goes with every binary, besides the manual: files and folders, and where they are in the archive. */
const ENCLOSED = {
  LICENSE: 'LICENSE',
  'CHANGELOG.md': 'CHANGELOG.md',
  'dist/THIRD-PARTY-LICENSES.txt': 'THIRD-PARTY-LICENSES.txt',
  'dist/manual': '.',
  'scripts/stations': 'scripts/stations',
}
const OUTPUT = 'dist/release'

const { name, version } = JSON.parse(readFileSync('package.json', 'utf8'))
// Time stamps are the commit's, and the archives of a commit therefore always the same.
const time = commitTime()

rmSync(OUTPUT, { recursive: true, force: true })
mkdirSync(OUTPUT, { recursive: true })
writeFileSync('dist/notes.md', `${changes()}\n`)
for (const binary of readdirSync('dist/bin').filter((file) => file.startsWith(`${name}-`))) archive(binary)
writeFileSync(join(OUTPUT, `${name}-${version}.cdx.json`), sbom())
writeFileSync(join(OUTPUT, 'SHA256SUMS'), checksums())

/** Packs one binary, under its plain name, with the texts that go with it. */
function archive(binary: string): void {
  const windows = binary.endsWith('.exe')
  const folder = basename(binary, '.exe').replace(`${name}-`, `${name}-${version}-`)
  const program = windows ? `${name}.exe` : name
  const manual = [...pagesFrom('README.md')].map((page) => [page, page] as const)
  const contents = [...manual, ...Object.entries({ ...ENCLOSED, [join('dist/bin', binary)]: program })]
  for (const [from, to] of contents) cpSync(from, join(OUTPUT, folder, to), { recursive: true })
  const files = ['', ...readdirSync(join(OUTPUT, folder), { recursive: true, encoding: 'utf8' }).sort()].map(
    (file) => join(folder, file),
  )
  // What is in a folder first: it changes the folder's time.
  for (const file of files.toReversed()) {
    const path = join(OUTPUT, file)
    const runs = statSync(path).isDirectory() || basename(file) === program || file.endsWith('.sh')
    chmodSync(path, runs ? 0o755 : 0o644)
    utimesSync(path, time, time)
  }
  const [command = '', ...args] = windows
    ? ['zip', '-q', '-X', '-D', `${folder}.zip`, ...files]
    : [
        'tar',
        '--sort=name',
        '--owner=0',
        '--group=0',
        '--numeric-owner',
        '-I',
        'gzip -n9',
        '-cf',
        `${folder}.tar.gz`,
        folder,
      ]
  execFileSync(command, args, { cwd: OUTPUT, env: { ...process.env, TZ: 'UTC' } })
  rmSync(join(OUTPUT, folder), { recursive: true })
}

/** This version's section of the change log. */
function changes(): string {
  const sections = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m)
  const section = sections.find((text) => [version, `[${version}]`].includes(text.split(/\s/)[0]))
  if (!section) throw new Error(`CHANGELOG.md has no section for ${version}`)
  return section.slice(section.indexOf('\n')).trim()
}

/** The packages in the program, in CycloneDX's format. */
function sbom(): Buffer {
  return execFileSync('npm', ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--omit=dev'])
}

/** The lines `sha256sum --check` reads. */
function checksums(): string {
  const lines = readdirSync(OUTPUT).map((file) => {
    const hash = createHash('sha256').update(readFileSync(join(OUTPUT, file)))
    return `${hash.digest('hex')}  ${file}\n`
  })
  return lines.join('')
}
