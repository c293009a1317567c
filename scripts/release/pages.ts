/** The pages of the manual as a release has them: for somebody on the line, who has no copy of the repository. */
import { existsSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'

/** What a release encloses; all other pages are for developers. */
const ENCLOSED =
  /^(README\.md|CHANGELOG\.md|LICENSE|\.github\/session\.svg|scripts\/(stations\/.+|release\/install\.md)|src\/.+\.md)$/

const LINK = /!?\[([^\]]*)\]\(([^)\s]+)\)/g

/**
 * Finds the page and everything that its links lead to, directly or through other pages, and that a release encloses.
 * @returns the contents by path, from the root of the project
 */
export function pagesFrom(page: string, found = new Map<string, string>()): Map<string, string> {
  if (found.has(page)) return found
  const text = readFileSync(page, 'utf8')
  found.set(page, page.endsWith('.md') ? withoutDeadLinks(page, text) : text)
  if (page.endsWith('.md')) {
    for (const [, , link = ''] of text.matchAll(LINK)) {
      const target = targetOf(page, link)
      if (isEnclosed(target)) pagesFrom(target, found)
    }
  }
  return found
}

/**
 * Makes plain text of each link to a page that is not enclosed, and leaves out the rows of tables that only lead to
 * such pages: those whose first cell has such links, and no other.
 */
export function withoutDeadLinks(page: string, text: string): string {
  const leads = (link: string) =>
    link.startsWith('#') || /^https?:/.test(link) || isEnclosed(targetOf(page, link))
  const lines = text.split('\n').filter((line) => {
    const links = [...(/^\| (\[.*?) \|/.exec(line)?.[1] ?? '').matchAll(LINK)]
    return links.length === 0 || links.some(([, , link = '']) => leads(link))
  })
  return lines
    .join('\n')
    .replaceAll(LINK, (whole, words: string, link: string) => (leads(link) ? whole : words))
}

/** A link's file, from the root of the project. */
const targetOf = (page: string, link: string) =>
  posix.join(posix.dirname(page), link.split('#')[0] || posix.basename(page))

const isEnclosed = (path: string) => ENCLOSED.test(path) && existsSync(path)
