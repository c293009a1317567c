/** The Node executables that the binaries are made of. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where downloads and half-made files lie; `npm ci` empties it. */
export const CACHE = 'node_modules/.cache/package'

/** An npm package with an official Node build, as the lock file pins it. */
interface Pinned {
  version: string
  integrity: string
}

/** The Node executable of an npm package for another system than this one, which npm therefore did not install. */
export function foreignNode(name: string, executable: string): Buffer {
  const archive = fetchPinned(name)
  execFileSync('tar', ['-xzf', archive, '-C', CACHE, `package/${executable}`])
  return readFileSync(join(CACHE, 'package', executable))
}

/** Fetches a package once, and trusts it each time only after a look at the lock file. */
function fetchPinned(name: string): string {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const { version, integrity }: Pinned = packages[`node_modules/${name}`]
  const archive = join(CACHE, `${name}-${version}.tgz`)
  if (!existsSync(archive)) {
    execFileSync('npm', ['pack', '--silent', '--pack-destination', CACHE, `${name}@${version}`])
  }
  const found = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`
  if (found !== integrity)
    throw new Error(`${archive} does not match package-lock.json: delete it and try again`)
  return archive
}
