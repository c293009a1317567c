/** A release has the pages and pictures that its README leads to. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { pagesFrom } from '../../scripts/package/pages.ts'
import { temporaryDirectory } from '../support/directory.ts'

test('pages and pictures are found through links, each once; what is elsewhere or missing is not', () => {
  const directory = temporaryDirectory()
  const files = {
    'README.md':
      '![a picture](.github/a.svg) [b](src/b.md#part), [web](https://example.org/web.md), [missing](no.md)',
    'src/b.md': '[back](../README.md), [c](c.md), [source](b.ts)',
    'src/c.md': 'the end',
    'src/b.ts': '',
    'src/unlinked.md': '',
    '.github/a.svg': '[no page](../src/unlinked.md)',
  }
  for (const folder of ['src', '.github']) mkdirSync(join(directory, folder))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text)
  const expected = ['README.md', '.github/a.svg', 'src/b.md', 'src/c.md'].map((name) => join(directory, name))
  expect([...pagesFrom(join(directory, 'README.md'))]).toEqual(expected)
})
