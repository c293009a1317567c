/**
 * Collects the licence texts of what a binary holds besides the program itself, Node and the bundled packages, into
 * dist/THIRD-PARTY-LICENSES.txt. Which packages those are, the bundler's own record of its last run says.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const RULE = `\n\n${'='.repeat(80)}\n`

const { inputs } = JSON.parse(readFileSync('dist/meta.json', 'utf8'))
const bundled = Object.keys(inputs).flatMap(
  (input) => input.match(/^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/) ?? [],
)
const texts = [nodePackage(), ...[...new Set(bundled)].sort()].map((directory) => {
  const { name, version, license } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
  return `${name} ${version} (${license})\n\n${licenseText(directory)}`
})
writeFileSync('dist/THIRD-PARTY-LICENSES.txt', `${texts.join(RULE)}\n`)
console.log(`dist/THIRD-PARTY-LICENSES.txt: ${texts.length} licences`)

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
