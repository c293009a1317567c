/** The package for Red Hat, Fedora, SUSE and their like. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { dirname } from 'node:path/posix'
import { type About, packageVersion, SUMMARY } from './deb.ts'
import { type Files, writeTree } from './tree.ts'

/** The tree goes in as it is: `strip` would cut the program out of its executable. */
const MACROS = {
  __os_install_post: '%{nil}',
  debug_package: '%{nil}',
  _build_id_links: 'none',
  _binary_payload: 'w2.xzdio',
  _buildhost: 'localhost',
  use_source_date_epoch_as_buildtime: '1',
  clamp_mtime_to_source_date_epoch: '1',
  // The scripts are there to be copied, and need what they need there.
  __requires_exclude_from: '^/usr/share/doc/',
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
  execFileSync('rpmbuild', ['-bb', '--quiet', '--target', `${arch}-linux`, ...defines, specFile], {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(about.time.getTime() / 1000) },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
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
