/** A release has the pages and pictures for users that its README leads to, and no link in them leads nowhere. */
import { describe, expect, test } from 'vitest'
import { pagesFrom, withFlatLinks } from '../../scripts/release/contents.ts'
import { anchorsOf } from '../docs/pages.ts'

const pages = pagesFrom('README.md')

describe('the pages of a release', () => {
  test('are those for users: none about building, testing and measuring', () => {
    const pagesOf = ['README.md', 'CHANGELOG.md', 'stations.md', 'next.md', 'command-line.md']
    expect([...pages.keys()]).toEqual(expect.arrayContaining([...pagesOf, 'LICENSE', 'session.svg']))
    expect(
      [...pages.keys()].filter((path) => /\/|test|torture|bench|package|^store|CONTRIB|\.ts$/.test(path)),
    ).toEqual([])
  })

  test.each([...pages])('%s leads only to what is there', (path, text) => {
    const links = [...text.matchAll(/\]\(([^)#\s]+)/g)].map(([, link = '']) => link)
    const local = links.filter((link) => !/^https?:/.test(link))
    expect(local.filter((link) => !pages.has(link))).toEqual([])
    for (const [, target = '', anchor] of text.matchAll(/\]\(([\w.-]*)#([^)\s]+)\)/g))
      expect(anchorsOf(pages.get(target || path) ?? ''), target).toContain(anchor)
  })
})

test('a link to a page for developers becomes text; a row that only leads to such pages goes', () => {
  const text = `See [the tests](test/README.md#1), [keys](src/key/README.md) and [a part](#part).
| [Keys](src/key/README.md) · [tests](test/README.md) | both |
| [Tests](test/README.md) | developers |
| a promise | [tests](test/README.md) |
`
  expect(withFlatLinks('README.md', text)).toBe(`See the tests, [keys](keys.md) and [a part](#part).
| [Keys](keys.md) · tests | both |
| a promise | tests |
`)
})
