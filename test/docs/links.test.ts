import { existsSync } from 'node:fs'
import { posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import { anchorsOf, PAGES, pageAt, rowsOf } from './pages.ts'

/** GitHub's own pages beside the files of a repository: the latest release, and its files. */
const ON_GITHUB = /^\.\.\/\.\.\/releases\/latest/

const withoutCode = (text: string) =>
  text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '').replaceAll(/`[^`\n]*`/g, 'code')

/** The targets of links and images that are neither addresses nor GitHub's. */
const linksIn = (text: string) =>
  [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^https?:/.test(target) && !ON_GITHUB.test(target))

describe.each(PAGES.map(({ path, text }) => [path, linksIn(text)] as const))('%s', (path, links) => {
  test('every link leads to a file, and every anchor to a heading', () => {
    const broken = links.filter((link) => {
      const [file = '', anchor] = link.split('#')
      const target = file === '' ? path : posix.join(posix.dirname(path), file)
      if (!existsSync(target)) return true
      return anchor !== undefined && !anchorsOf(pageAt(target)).includes(anchor)
    })
    expect(broken).toEqual([])
  })
})

test('the files of the latest release are called what a release calls them', () => {
  const [, ...rows] = rowsOf(
    pageAt('scripts/release/install.md')
      .split('\n\n')
      .find((part) => part.startsWith('| system |')) ?? '',
  )
  const named = rows
    .flatMap((cells) => cells.slice(1, 3))
    .filter(Boolean)
    .map((cell) => cell.replaceAll('`', ''))
  const links = /\[([^\]]+)\]\(\.\.\/\.\.\/releases\/latest\/download\/([^)]+)\)/g
  const linked = [...pageAt('README.md').matchAll(links)]
  expect(linked.length).toBeGreaterThan(4)
  for (const [, words, file = ''] of linked) {
    expect(words).toBe(file)
    expect(named).toContain(file)
  }
})

test('every page can be reached from the README', () => {
  const reached = new Set(['README.md'])
  for (const path of reached) {
    for (const link of linksIn(pageAt(path))) {
      const target = posix.join(posix.dirname(path), link.split('#')[0] ?? '')
      if (pageAt(target) !== '') reached.add(target)
    }
  }
  expect(PAGES.map(({ path }) => path).filter((path) => !reached.has(path))).toEqual([])
})
