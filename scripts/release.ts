/**
 * Makes what a release offers from the executables in dist/bin, all of it in dist/release: an archive for each, packages
 * for Linux, a list of what they are made of (SBOM) and the checksums. dist/notes.md is the release's text. It needs GNU
 * tar, zip and dpkg-deb, and rpmbuild for the packages of Red Hat.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { lastLine } from './package/bundle.ts'
import { commitTime } from './package/commit-time.ts'
import { archiveContents, packageContents } from './release/contents.ts'
import { makeDeb, makeRpm, writeTree } from './release/packages.ts'

const OUTPUT = 'dist/release'
const TAR = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--format=gnu', '-I', 'gzip -n9']
/** The executables that packages are made of, and the words of Debian and Red Hat for their instruction sets. */
const PACKAGED: Record<string, { deb: string; rpm: string }> = {
  'softsim-linux-x64': { deb: 'amd64', rpm: 'x86_64' },
  'softsim-linux-arm64': { deb: 'arm64', rpm: 'aarch64' },
}

const MADE_ON_A_MAC = 'softsim-macos-arm64'
const ONLY_A_MAC = 'it must be signed, and only a Mac can do that'
const BY_PACKAGE = 'npm run package makes it, all of them on Linux'
const EXECUTABLES = [...Object.keys(PACKAGED), 'softsim-macos-x64', MADE_ON_A_MAC, 'softsim-win-x64.exe']

const { name, version, description } = JSON.parse(readFileSync('package.json', 'utf8'))
// Time stamps are the commit's, and the release of a commit therefore always the same.
const about = { version, description, time: commitTime() }
const hasRpmbuild = spawnSync('rpmbuild', ['--version']).status === 0
rmSync(OUTPUT, { recursive: true, force: true })
mkdirSync(OUTPUT, { recursive: true })
writeFileSync('dist/notes.md', `${changes()}\n`)
const work = mkdtempSync(join(tmpdir(), 'softsim-release-'))
try {
  const found = readdirSync('dist/bin').filter((each) => each.startsWith(`${name}-`))
  for (const file of found) {
    console.log(`Compressing ${file}`)
    const binary = join('dist/bin', file)
    // It may have been left there by an earlier version.
    if (!readFileSync(binary).includes(`${lastLine}\n`))
      throw new Error(`${binary} is not of version ${version}: run \`npm run package\``)
    archive(binary)
    if (PACKAGED[file]) makePackages(binary, PACKAGED[file])
  }
} finally {
  rmSync(work, { recursive: true })
}
writeFileSync(join(OUTPUT, `${name}.cdx.json`), sbom())
// The lines that `sha256sum --check` reads.
const lines = readdirSync(OUTPUT).map(
  (file) => `${hash('sha256', readFileSync(join(OUTPUT, file)))}  ${file}\n`,
)
writeFileSync(join(OUTPUT, 'SHA256SUMS'), lines.join(''))

// What a release has besides, and why it could not be made here.
for (const file of EXECUTABLES.filter((each) => !existsSync(join('dist/bin', each))))
  console.warn(`Not made: ${file}: ${file === MADE_ON_A_MAC ? ONLY_A_MAC : BY_PACKAGE}`)
if (!hasRpmbuild) console.warn('Not made: .rpm: there is no rpmbuild here (Debian has it in the package rpm)')
console.log(`Made ${readdirSync(OUTPUT).length} files in ${OUTPUT}`)

/** Packs one executable, under its plain name, with the texts that go with it. */
function archive(binary: string): void {
  const output = resolve(OUTPUT, basename(binary, '.exe'))
  const directory = join(work, basename(output))
  const folder = `${name}-${version}`
  const files = writeTree(join(directory, folder), archiveContents(binary), about.time)
  const paths = [folder, ...files.map((path) => join(folder, path))]
  const [command = '', ...args] = binary.endsWith('.exe')
    ? ['zip', '-q', '-X', '-D', `${output}.zip`, ...paths]
    : ['tar', ...TAR, '-cf', `${output}.tar.gz`, folder]
  execFileSync(command, args, { cwd: directory, env: { ...process.env, TZ: 'UTC' } })
}

function makePackages(binary: string, { deb, rpm }: { deb: string; rpm: string }): void {
  const make = (by: typeof makeDeb, file: string, arch: string, zsh: string) =>
    by(join(OUTPUT, file), arch, packageContents(binary, zsh, about), about, join(work, arch))
  make(makeDeb, `${name}_${deb}.deb`, deb, 'vendor-completions')
  if (hasRpmbuild) make(makeRpm, `${name}.${rpm}.rpm`, rpm, 'site-functions')
}

/** This version's section of the change log. */
function changes(): string {
  const sections = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m)
  const section = sections.find((text) => [version, `[${version}]`].includes(text.split(/\s/)[0]))
  if (!section) throw new Error(`CHANGELOG.md has no section for ${version}`)
  return section.slice(section.indexOf('\n')).trim()
}

/** The packages in the program, in CycloneDX's format, without what npm makes anew each time. */
function sbom(): string {
  const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--omit=dev']
  const { serialNumber: _, ...list } = JSON.parse(execFileSync('npm', args, { encoding: 'utf8' }))
  list.metadata.timestamp = about.time.toISOString()
  // npm takes the name of the directory.
  list.metadata.component.name = name
  return `${JSON.stringify(list, null, 2)}\n`
}
