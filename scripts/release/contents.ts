/** What a release encloses with each executable, and where. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { pagesFrom } from './pages.ts'
import type { Files } from './tree.ts'

const MANUAL = 'dist/manual'
const STATIONS = 'scripts/stations'
const LICENSES = 'THIRD-PARTY-LICENSES.txt'

/** An archive: the program on top, and the pages, in the folders that their links name. */
export function archiveContents(binary: string): Files {
  return new Map<string, string | Buffer>([
    ...texts(),
    ...filesBelow(MANUAL),
    [binary.endsWith('.exe') ? 'softsim.exe' : 'softsim', readFileSync(binary)],
  ])
}

/**
 * A package for Linux: each file where its reader looks for it.
 * @param zsh the folder of completions for zsh, which Debian and Red Hat call by different names
 */
export function packageContents(binary: string, zsh: string): Files {
  const manual = (name: string) => readFileSync(join(MANUAL, name))
  return new Map<string, string | Buffer>([
    ['usr/bin/softsim', readFileSync(binary)],
    ['usr/share/man/man1/softsim.1.gz', gzipSync(manual('softsim.1'), { level: 9 })],
    ['usr/share/bash-completion/completions/softsim', manual('completions/softsim.bash')],
    ['usr/share/fish/vendor_completions.d/softsim.fish', manual('completions/softsim.fish')],
    [`usr/share/zsh/${zsh}/_softsim`, manual('completions/_softsim')],
    ...[...texts()].map(([path, text]) => [`usr/share/doc/softsim/${path}`, text] as const),
  ])
}

/** Pages, licences and the scripts for stations. */
function texts(): Files {
  return new Map<string, string | Buffer>([
    ...[...filesBelow(STATIONS)].map(([path, text]) => [`${STATIONS}/${path}`, text] as const),
    [LICENSES, readFileSync(join('dist', LICENSES))],
    ...pagesFrom('README.md'),
  ])
}

function filesBelow(directory: string): Map<string, Buffer> {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true })
  const paths = entries.filter((each) => each.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  return new Map(paths.map((path) => [relative(directory, path), readFileSync(path)]))
}
