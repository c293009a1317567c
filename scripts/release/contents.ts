/** What a release encloses with each executable, and where. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { manPage } from '../manual/man.ts'
import { commands } from '../manual/table.ts'
import type { About } from './deb.ts'
import { pagesFrom } from './pages.ts'
import type { Files } from './tree.ts'

const MANUAL = 'dist/manual'
const STATIONS = 'scripts/stations'
const LICENSES = 'THIRD-PARTY-LICENSES.txt'

/** Where packages have the pages. */
const DOC = 'usr/share/doc/softsim'

/** An archive: the program, the script for stations, and the pages beside them. */
export function archiveContents(binary: string): Files {
  return new Map<string, string | Buffer>([
    ...texts(),
    ...filesBelow(MANUAL),
    ...stationsFor(binary).map((name) => [name, readFileSync(join(STATIONS, name))] as const),
    [binary.endsWith('.exe') ? 'softsim.exe' : 'softsim', readFileSync(binary)],
  ])
}

/** The scripts for stations that run beside an executable; macOS has too old a bash. */
function stationsFor(binary: string): string[] {
  if (binary.endsWith('.exe')) return ['softsim-station.cmd', 'softsim-station.ps1']
  return basename(binary).includes('-linux-') ? ['softsim-station'] : []
}

/**
 * A package for Linux: each file where its reader looks for it.
 * @param zsh the folder of completions for zsh, which Debian and Red Hat call by different names
 */
export function packageContents(binary: string, zsh: string, { version, time }: About): Files {
  const manual = (name: string) => readFileSync(join(MANUAL, name))
  return new Map<string, string | Buffer>([
    ['usr/bin/softsim', readFileSync(binary)],
    ['usr/bin/softsim-station', readFileSync(join(STATIONS, 'softsim-station'))],
    ['usr/share/man/man1/softsim.1.gz', gzip(manPage(commands, version, time, `/${DOC}`))],
    ['usr/share/man/man1/softsim-station.1.gz', gzip(manual('softsim-station.1'))],
    ['usr/share/bash-completion/completions/softsim', manual('completions/softsim.bash')],
    ['usr/share/fish/vendor_completions.d/softsim.fish', manual('completions/softsim.fish')],
    [`usr/share/zsh/${zsh}/_softsim`, manual('completions/_softsim')],
    ...[...texts()].map(([path, text]) => [`${DOC}/${path}`, text] as const),
  ])
}

const gzip = (text: string | Buffer) => gzipSync(text, { level: 9 })

/** Pages and licences. */
function texts(): Files {
  return new Map<string, string | Buffer>([
    [LICENSES, readFileSync(join('dist', LICENSES))],
    ...pagesFrom('README.md'),
  ])
}

function filesBelow(directory: string): Map<string, Buffer> {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true })
  const paths = entries.filter((each) => each.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  return new Map(paths.map((path) => [relative(directory, path), readFileSync(path)]))
}
