/**
 * The pages of the manual as a release has them: for somebody on the line, who has no copy of the repository. All are in
 * one folder, under the names of what they are about.
 */
import { existsSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'

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
