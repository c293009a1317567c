/** The package for Debian, Ubuntu and their like. */
import { execFileSync } from 'node:child_process'
import { gzipSync } from 'node:zlib'
import { type Files, writeTree } from './tree.ts'

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
  const epoch = String(about.time.getTime() / 1000)
  execFileSync('dpkg-deb', [...HOW, '--build', tree, output], {
    env: { ...process.env, SOURCE_DATE_EPOCH: epoch },
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
