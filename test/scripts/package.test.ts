/** What package.json promises, and whether V8 takes the code that was compiled for the executable. */
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { lastLine } from '../../scripts/package/bundle.ts'
import { hostBinary } from '../../scripts/package/host.ts'
import { PAGES } from '../docs/pages.ts'
import { hasPosix } from '../support/system.ts'

const pathOf = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url))
const read = (name: string) => readFileSync(pathOf(name), 'utf8')

const { version, bin, engines, dependencies } = JSON.parse(read('package.json'))

/** `>=22.19` as numbers that can be compared: [22, 19, 0]. */
function oldest(range: string): number[] {
  const [, major, minor = '0', patch = '0'] = /^>=(\d+)(?:\.(\d+))?(?:\.(\d+))?$/.exec(range) ?? []
  expect(major, `the range ${range}`).toBeDefined()
  return [major, minor, patch].map(Number)
}

test.skipIf(!hasPosix)('bin is executable and runs with the Node on the PATH', () => {
  const env = { PATH: dirname(process.execPath) }
  expect(execFileSync(pathOf(bin.softsim), ['-V'], { env, encoding: 'utf8' })).toBe(`${version}\n`)
})

test('the version is the one of the lock file, of the top of the change log and of the man page', () => {
  expect(JSON.parse(read('package-lock.json')).packages[''].version).toBe(version)
  expect(/^## (\S+)/m.exec(read('CHANGELOG.md'))?.[1]).toBe(version)
  expect(read('dist/manual/softsim.1')).toContain(`\n.Os softsim ${version}\n`)
})

test('no page names the version in the name of a download', () => {
  for (const { path, text } of PAGES) expect(text, path).not.toMatch(/softsim[-_]\d+\.\d+\.\d+/)
})

test.each(Object.keys(dependencies))('the oldest Node in engines is new enough for %s', (name) => {
  const needed = JSON.parse(read(`node_modules/${name}/package.json`)).engines?.node
  const [major = 0, minor = 0, patch = 0] = oldest(engines.node)
  const [neededMajor = 0, neededMinor = 0, neededPatch = 0] = oldest(needed ?? '>=0')
  expect([major - neededMajor || minor - neededMinor || patch - neededPatch][0]).toBeGreaterThanOrEqual(0)
})

test('CI runs the oldest Node in engines', () => {
  expect(read('.github/workflows/ci.yml')).toContain(`node-version: ${oldest(engines.node).join('.')}\n`)
})

test('the executable says its version where npm run release looks for it', () =>
  expect(readFileSync(pathOf(hostBinary)).includes(`${lastLine}\n`)).toBe(true))

const CACHE = pathOf('node_modules/.cache/package')

/** Tells it as start.cjs would find it: in a process of its own, since V8 asks for the same flags, too. */
const TELL = `
  const { readFileSync } = require('node:fs')
  const { Script } = require('node:vm')
  const [name] = process.argv.slice(1)
  const cachedData = readFileSync(name + '.compiled')
  const script = new Script(readFileSync(name, 'utf8'), { filename: 'softsim.cjs', cachedData })
  process.stdout.write(String(script.cachedDataRejected))
`

for (const name of ['next', 'softsim']) {
  // Where V8 does not take it, the start is only slower. Empty after an executable for another system was made last.
  const size = statSync(join(CACHE, `${name}.compiled`), { throwIfNoEntry: false })?.size ?? 0
  test.skipIf(size === 0)(`V8 takes the compiled code of ${name}`, () => {
    const told = execFileSync(process.execPath, ['-e', TELL, name], { cwd: CACHE, encoding: 'utf8' })
    expect(told).toBe('false')
  })
}
