/** The pages of the manual, as text. */
import { globSync, readFileSync } from 'node:fs'
import { sep } from 'node:path'

export interface Page {
  /** From the root of the project, with forward slashes. */
  readonly path: string
  readonly text: string
}

export interface Block {
  readonly language: string
  readonly text: string
  /** Why it is not run, if it can't be. */
  readonly notRun?: string | undefined
  /** The first line of the block, counted from 1. */
  readonly line: number
}

export const PAGES: readonly Page[] = globSync(['*.md', '.github/**/*.md', '{src,test,scripts}/**/*.md'])
  .sort()
  .map((path) => ({ path: path.replaceAll(sep, '/'), text: readFileSync(path, 'utf8') }))

export const pageAt = (path: string): string => PAGES.find((page) => page.path === path)?.text ?? ''

const FENCE = /(?:^ *<!-- not run: (.+) -->\n)?^( *)```(\w*)\n([\s\S]*?)^ *```$/gm

export function blocksOf(text: string): Block[] {
  return [...text.matchAll(FENCE)].map(
    ({ 1: notRun, 2: indent = '', 3: language = '', 4: body = '', index }) => ({
      language,
      text: body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      notRun,
      line: text.slice(0, index).split('\n').length + (notRun === undefined ? 1 : 2),
    }),
  )
}

/** The rows of the tables in a text, each as its cells, without the lines below the headers. */
export const rowsOf = (text: string): string[][] =>
  [...text.matchAll(/^\| ?(.*?) ?\|$/gm)]
    .map(([, row = '']) => row.split(/ \| ?/).map((cell) => cell.trim()))
    .filter(([first = '']) => !/^[-|: ]+$/.test(first))

/** What follows a heading, up to the next one of its level or above. */
export function sectionOf(text: string, heading: string): string {
  const level = /^#+/.exec(heading)?.[0].length ?? 0
  const [, after = ''] = text.split(`\n${heading}\n`)
  return after.split(new RegExp(`^#{1,${level}} `, 'm'))[0] ?? ''
}

/** As GitHub makes them from headings. */
export function anchorsOf(text: string): string[] {
  const headings = text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '').matchAll(/^#+ (.+)$/gm)
  return [...headings].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}
