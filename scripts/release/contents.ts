/**
 * What a release encloses with each executable, and where: for somebody on the line, who has no copy of the repository,
 * the pages of the manual, all in one folder, under the names of what they are about.
 */
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { gzipSync } from 'node:zlib'
import { manPage } from '../manual/man.ts'
import { commands } from '../manual/table.ts'
import type { About, Files } from './packages.ts'

const MANUAL = 'dist/manual'

/** Where packages have the pages. */
const DOC = 'usr/share/doc/softsim'

/** An archive: the program, and the pages beside it. */
export function archiveContents(binary: string): Files {
  return new Map<string, string | Buffer>([
    ...texts(),
    ...globSync(['*.1', 'completions/*'], { cwd: MANUAL }).map(
      (path) => [path, readFileSync(join(MANUAL, path))] as const,
    ),
    [binary.endsWith('.exe') ? 'softsim.exe' : 'softsim', readFileSync(binary)],
  ])
}

/**
 * A package for Linux: each file where its reader looks for it.
 * @param zsh the folder of completions for zsh, which Debian and Red Hat call by different names
 */
export function packageContents(binary: string, zsh: string, { version, time }: About): Files {
  const manual = (name: string) => readFileSync(join(MANUAL, name))
  return new Map<string, string | Buffer>([
    ['usr/bin/softsim', readFileSync(binary)],
    ['usr/share/man/man1/softsim.1.gz', gzip(manPage(commands, version, time, `/${DOC}`))],
    ['usr/share/bash-completion/completions/softsim', manual('completions/softsim.bash')],
    ['usr/share/fish/vendor_completions.d/softsim.fish', manual('completions/softsim.fish')],
    [`usr/share/zsh/${zsh}/_softsim`, manual('completions/_softsim')],
    ...[...texts()].map(([path, text]) => [`${DOC}/${path}`, text] as const),
  ])
}

const gzip = (text: string | Buffer) => gzipSync(text, { level: 9 })

/** Pages and licences. */
const texts = () => new Map([['THIRD-PARTY-LICENSES.txt', licenses()], ...pagesFrom('README.md')])

const RULE = `\n\n${'='.repeat(80)}\n`

/**
 * The licence texts of what a binary holds besides the program itself, Node and the bundled packages. Which packages
 * those are, the bundler's own record of its last run says.
 */
function licenses(): string {
  const { inputs } = JSON.parse(readFileSync('dist/meta.json', 'utf8'))
  const bundled = Object.keys(inputs).flatMap(
    (input) => input.match(/^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/) ?? [],
  )
  const texts = [nodePackage(), ...[...new Set(bundled)].sort()].map((directory) => {
    const { name, version, license } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
    return `${name} ${version} (${license})\n\n${licenseText(directory)}`
  })
  return `${texts.join(RULE)}\n`
}

/** The npm package with Node's licence text; the one for Windows has none. */
function nodePackage(): string {
  const [found] = readdirSync('node_modules').filter((name) => /^node-(linux|darwin)-/.test(name))
  if (!found)
    throw new Error("Node's licence comes with its npm package for Linux or macOS, and none is installed")
  return join('node_modules', found)
}

/** What a package says about its licence, in files of its own or under that heading of its read-me. */
function licenseText(directory: string): string {
  const read = (file: string) => readFileSync(join(directory, file), 'utf8').trim()
  const files = readdirSync(directory).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
  if (files.length > 0) return files.map(read).join('\n\n')
  const section = read('README.md').match(/^#+ licen[cs]e.*/ims)
  if (!section) throw new Error(`${directory} has no licence text`)
  return section[0]
}

/** What a release encloses; all other pages are for developers. */
const ENCLOSED =
  /^(README\.md|CHANGELOG\.md|LICENSE|\.github\/(?!bench)\w+\.svg|scripts\/(stations|release)\/(?!README)[\w-]+\.md|scripts\/stations\/README\.md|src\/(?!store\/).+\.md)$/

/** Pages whose folders have other names than what they are about. */
const NAMES: Record<string, string> = {
  'README.md': 'README.md',
  'src/cli/README.md': 'command-line.md',
  'src/key/README.md': 'keys.md',
  'src/profile/README.md': 'formats.md',
}

/** A page's name in a release: `status.md` for `src/status/README.md`. */
const flat = (path: string): string =>
  NAMES[path] ??
  (path.endsWith('/README.md') ? `${posix.basename(posix.dirname(path))}.md` : posix.basename(path))

const LINK = /!?\[([^\]]*)\]\(([^)\s]+)\)/g

/**
 * Finds the page and everything that its links lead to, directly or through other pages, and that a release encloses.
 * @returns the contents by name
 */
export function pagesFrom(page: string, found = new Map<string, string>()): Map<string, string> {
  if (found.has(flat(page))) return found
  const text = readFileSync(page, 'utf8')
  found.set(flat(page), page.endsWith('.md') ? withFlatLinks(page, text) : text)
  if (page.endsWith('.md')) {
    for (const [, , link = ''] of text.matchAll(LINK)) {
      const target = targetOf(page, link)
      if (isEnclosed(target)) pagesFrom(target, found)
    }
  }
  return found
}

/**
 * Gives each link the name that its page has in a release. A link to a page that is not enclosed becomes plain text, and
 * the rows of tables that only lead to such pages are left out: those whose first cell has such links, and no other.
 */
export function withFlatLinks(page: string, text: string): string {
  const leads = (link: string) =>
    link.startsWith('#') || /^https?:/.test(link) || isEnclosed(targetOf(page, link))
  const lines = text.split('\n').filter((line) => {
    const links = [...(/^\| (\[.*?) \|/.exec(line)?.[1] ?? '').matchAll(LINK)]
    return links.length === 0 || links.some(([, , link = '']) => leads(link))
  })
  return lines.join('\n').replaceAll(LINK, (whole, words: string, link: string) => {
    if (!leads(link)) return words
    const [path = '', anchor] = link.split('#')
    if (path === '' || path.includes(':')) return whole
    const target = flat(targetOf(page, link))
    return whole.replace(`](${link})`, `](${anchor ? `${target}#${anchor}` : target})`)
  })
}

/** A link's file, from the root of the project. */
const targetOf = (page: string, link: string) =>
  posix.join(posix.dirname(page), link.split('#')[0] || posix.basename(page))

const isEnclosed = (path: string) => ENCLOSED.test(path) && existsSync(path)
