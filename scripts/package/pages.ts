import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Finds a page in Markdown and all pages and pictures that its links lead to, directly or through other pages. */
export function pagesFrom(page: string, found = new Set<string>()): Set<string> {
  if (found.has(page) || !existsSync(page)) return found
  found.add(page)
  if (!page.endsWith('.md')) return found
  for (const [, link = ''] of readFileSync(page, 'utf8').matchAll(
    /\]\(([^)#:]+\.(?:md|svg))(?:#[^)]*)?\)/g,
  )) {
    pagesFrom(join(dirname(page), link), found)
  }
  return found
}
