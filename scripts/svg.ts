/** What the pictures of the manual share. */

interface Picture {
  readonly width: number
  readonly height: number
  readonly title: string
  /** For whoever can't see it. */
  readonly description: string
  readonly style: string
  readonly parts: readonly string[]
}

export const svg = ({ width, height, title, description, style, parts }: Picture): string =>
  [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<desc>${escaped(description)}</desc>`,
    `<style>${style}\n</style>`,
    `<rect class="page" width="${width}" height="${height}" rx="6"/>`,
    ...parts,
    '</svg>\n',
  ].join('\n')

export const escaped = (words: string) =>
  words.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`)
