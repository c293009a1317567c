/**
 * Makes what a release offers from the binaries in dist/bin, all of it in dist/release: an archive for each, a list of
 * what they are made of (SBOM) and the checksums. dist/notes.md is the release's text. It needs GNU tar and zip.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'

const ENCLOSED = ['LICENSE', 'README.md', 'CHANGELOG.md', 'dist/THIRD-PARTY-LICENSES.txt']
/** What the README shows, where it looks for it. */
const SHOWN = ['.github/bench.md', '.github/bench.svg']
const OUTPUT = 'dist/release'

const { name, version } = JSON.parse(readFileSync('package.json', 'utf8'))
// Time stamps are the commit's, and the archives of a commit therefore always the same.
const time = Number(execFileSync('git', ['log', '-1', '--format=%ct'], { encoding: 'utf8' }))

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
  const contents = [
    ...ENCLOSED.map((file) => [file, basename(file)]),
    ...SHOWN.map((file) => [file, file]),
    [join('dist/bin', binary), program],
  ] as [from: string, to: string][]
  for (const [from, to] of contents) {
    const copy = join(OUTPUT, folder, to)
    mkdirSync(dirname(copy), { recursive: true })
    copyFileSync(from, copy)
    chmodSync(copy, to === program ? 0o755 : 0o644)
    utimesSync(copy, time, time)
  }
  for (const place of ['.github', '']) utimesSync(join(OUTPUT, folder, place), time, time)
  const [command = '', ...args] = windows
    ? ['zip', '-q', '-X', `${folder}.zip`, ...contents.map(([, to]) => `${folder}/${to}`).sort()]
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
