/** The packages for Linux: for Debian, Ubuntu and their like, and for Red Hat, Fedora, SUSE and theirs. */

import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'

/** Contents by path, with forward slashes. */
export type Files = ReadonlyMap<string, string | Buffer>

/** The program, at the top of an archive or in a package's /usr/bin. */
const RUNS = /(^|\/bin\/)softsim(\.exe)?$/

/**
 * Writes files below a directory that does not exist yet. Modes do not depend on the umask, and all time stamps are
 * the given one.
 * @returns the paths of all files and folders below the directory, folders first, sorted
 */
export function writeTree(directory: string, files: Files, time: Date): string[] {
  mkdirSync(directory, { recursive: true })
  for (const [path, contents] of files) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), contents)
  }
  const paths = readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort()
  // What is in a folder first: it changes the folder's time.
  for (const path of ['', ...paths].toReversed()) {
    const each = join(directory, path)
    chmodSync(each, statSync(each).isDirectory() || RUNS.test(path) ? 0o755 : 0o644)
    utimesSync(each, time, time)
  }
  return paths
}

/** What every package says of itself. */
export interface About {
  version: string
  description: string
  /** The commit's, so that the package of a commit is always the same. */
  time: Date
}

/** What Node is linked with. Each version is the oldest that has all the symbols; test/scripts/package.test.ts reads them. */
export const NEEDED = { libc6: '2.28', 'libstdc++6': '7' }

/** At most 79 characters, as `apt list` shows them. */
export const SUMMARY = 'fetches SoftSIM profiles and hands them out, one per device'

/** Debian looks for the licence here, in this form. */
const COPYRIGHT = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

Files: *
Copyright: 2026 the softsim project
License: Apache-2.0
 The text is in the file LICENSE beside this one. THIRD-PARTY-LICENSES.txt has
 those of Node and of the packages that the program contains.
`

/** Debian wants an address. */
const MAINTAINER = 'the softsim project <softsim@users.noreply.github.com>'

/** What lintian finds in the Node that the executable is made of. */
const OVERRIDES = 'softsim: embedded-library\nsoftsim: hardening-no-pie\n'

const HOW = ['--root-owner-group', '-Zxz', '-z2', '--threads-max=1']

/**
 * Makes a package of files.
 * @param arch Debian's word for the instruction set: amd64 or arm64
 * @param tree a directory that does not exist yet
 */
export function makeDeb(output: string, arch: string, files: Files, about: About, tree: string): void {
  const own = {
    'DEBIAN/control': control(arch, files, about),
    'usr/share/doc/softsim/copyright': COPYRIGHT,
    'usr/share/doc/softsim/changelog.gz': gzipSync(changelog(about), { level: 9 }),
    'usr/share/lintian/overrides/softsim': OVERRIDES,
  }
  writeTree(tree, new Map([...files, ...Object.entries(own)]), about.time)
  run('dpkg-deb', [...HOW, '--build', tree, output], about)
}

function run(program: string, args: readonly string[], { time }: About): void {
  execFileSync(program, args, {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(time.getTime() / 1000) },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

function control(arch: string, files: Files, { version, description }: About): string {
  const bytes = [...files.values()].reduce((sum, contents) => sum + Buffer.byteLength(contents), 0)
  const depends = Object.entries(NEEDED).map(([name, oldest]) => `${name} (>= ${oldest})`)
  return `Package: softsim
Version: ${packageVersion(version)}
Architecture: ${arch}
Maintainer: ${MAINTAINER}
Installed-Size: ${Math.ceil(bytes / 1024)}
Depends: ${depends.join(', ')}
Section: utils
Priority: optional
Description: ${SUMMARY}
${description.replace(/(.{1,70})(?: |$)/g, ' $1\n').trimEnd()}.
`
}

const changelog = ({
  version,
  time,
}: About): string => `softsim (${packageVersion(version)}) stable; urgency=medium

  * See CHANGELOG.md beside this file.

 -- ${MAINTAINER}  ${time.toUTCString().replace('GMT', '+0000')}
`

/** The version as packages order it: 1.2.0~rc.1 is older than 1.2.0. */
export const packageVersion = (version: string): string => version.replace('-', '~')

/** The tree goes in as it is: `strip` would cut the program out of its executable. */
const MACROS = {
  __os_install_post: '%{nil}',
  debug_package: '%{nil}',
  _build_id_links: 'none',
  _binary_payload: 'w2.xzdio',
  _buildhost: 'localhost',
  use_source_date_epoch_as_buildtime: '1',
  clamp_mtime_to_source_date_epoch: '1',
}

/**
 * Makes a package of files. rpmbuild finds out by itself which libraries, of which versions, it needs.
 * @param arch Red Hat's word for the instruction set: x86_64 or aarch64
 * @param work a directory that does not exist yet
 */
export function makeRpm(output: string, arch: string, files: Files, about: About, work: string): void {
  const tree = resolve(work, 'tree')
  writeTree(tree, files, about.time)
  const specFile = join(work, 'softsim.spec')
  writeFileSync(specFile, spec(tree, files, about))
  const macros = { ...MACROS, _topdir: resolve(work), _rpmfilename: 'softsim.rpm', _rpmdir: resolve(work) }
  const defines = Object.entries(macros).flatMap(([name, value]) => ['--define', `${name} ${value}`])
  run('rpmbuild', ['-bb', '--quiet', '--target', `${arch}-linux`, ...defines, specFile], about)
  execFileSync('mv', [join(work, 'softsim.rpm'), output])
}

function spec(tree: string, files: Files, { version, description }: About): string {
  const outside = [...files.keys()].filter((path) => !path.startsWith('usr/share/doc/'))
  // Where no shell has made the folders for its completions, they go with the package.
  const folders = outside.filter((path) => !/^usr\/(bin|share\/man)\//.test(path)).map(dirname)
  const own = new Set([...folders, ...folders.map(dirname)])
  return `Name: softsim
Version: ${packageVersion(version)}
Release: 1
Summary: ${SUMMARY}
License: Apache-2.0
%description
${description}.
%install
cp -a ${tree}/. %{buildroot}
%files
%defattr(-,root,root)
/usr/share/doc/softsim
${[...own].map((path) => `%dir /${path}`).join('\n')}
${outside.map((path) => `/${path}`).join('\n')}
`
}
