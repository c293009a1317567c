/**
 * Packs dist/softsim.cjs and Node into one executable, dist/bin/softsim-<system>-<architecture>: on Linux for all the
 * systems below, elsewhere for the system at hand. `--only=host` makes that one alone. What is done to Node for it,
 * and what it brings: scripts/package/README.md.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { bundle } from './package/bundle.ts'
import { stripElf } from './package/elf.ts'
import { binaryPath } from './package/host.ts'
import { countSegment } from './package/macho.ts'
import { renamePe } from './package/pe.ts'
import { pack } from './package/pkg.ts'
import { stockUp } from './stock.ts'

/** Where downloads and half-made files lie; `npm ci` empties it. */
const CACHE = 'node_modules/.cache/package'

/** What one system asks for. */
interface System {
  name: 'linux' | 'macos' | 'win'
  platform: NodeJS.Platform
  /** The architectures for which an npm package has its Node. */
  packages: readonly NodeJS.Architecture[]
  /** What the Node executable needs before the program is put in: afterwards these would break it. */
  before?: (node: Buffer) => Buffer
  /** What the finished executable needs. */
  after?: (binary: Buffer) => Buffer
}

const { name, version } = JSON.parse(readFileSync('package.json', 'utf8'))

const SYSTEMS: System[] = [
  { name: 'linux', platform: 'linux', packages: ['x64', 'arm64'], before: stripElf },
  {
    ...{ name: 'macos', platform: 'darwin', packages: ['x64'] },
    after: (binary) => countSegment(binary, 'NODE_SEA'),
  },
  {
    ...{ name: 'win', platform: 'win32', packages: ['x64'] },
    before: (node) => renamePe(node, name, version),
  },
]

/** What start.cjs chooses from, each with a call of it that has V8 compile what most calls need. */
const PROGRAMS = {
  softsim: () => 'status -k key.pem -i profiles',
  next: (device: string) => `next -k key.pem -i profiles --receipt receipt --device ${device}`,
}
const NAMES = Object.keys(PROGRAMS)
const ASSETS = Object.fromEntries(
  NAMES.flatMap((name) => [name, `${name}.compiled`]).map((name) => [name, `${CACHE}/${name}`]),
)

const { only } = parseArgs({ options: { only: { type: 'string' } } }).values
for (const directory of ['dist/bin', CACHE]) mkdirSync(directory, { recursive: true })
await bundle(`${CACHE}/next.cjs`, 'next')
wrap('dist/softsim.cjs', `${CACHE}/softsim`)
wrap(`${CACHE}/next.cjs`, `${CACHE}/next`)
for (const system of SYSTEMS) {
  const isHost = system.platform === process.platform
  if (isHost) await packHost(system)
  if (process.platform !== 'linux' || only === 'host') continue
  for (const arch of system.packages) {
    if (isHost && arch === process.arch) continue
    // Compiled code would be of no use there: V8 takes its own platform's only.
    for (const name of NAMES) writeFileSync(`${CACHE}/${name}.compiled`, '')
    await packSystem(system, arch, foreignNode(system.name === 'macos' ? 'darwin' : system.name, arch))
  }
}

/** Writes a bundle as the function Node makes of a CommonJS file. */
function wrap(bundled: string, output: string): void {
  const text = readFileSync(bundled, 'utf8').replace(/^#!.*/, '')
  writeFileSync(output, `(function (exports, require, module, __filename, __dirname) {${text}\n})`)
}

/** The host's own binary, of the Node that runs this script, with the code V8 compiles. */
async function packHost(system: System): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'softsim-package-'))
  try {
    stockUp(join(root, 'stock'), 3)
    for (const [name, call] of Object.entries(PROGRAMS)) {
      const station = join(root, name)
      cpSync(join(root, 'stock'), station, { recursive: true })
      const files = [`${CACHE}/${name}`, `${CACHE}/${name}.compiled`]
      const rehearsal = ['--predictable', 'scripts/package/rehearse.ts', ...files, station]
      // The second one counts: the first call in a directory is not like the others.
      for (const device of ['first', 'second'])
        execFileSync(process.execPath, [...rehearsal, ...call(device).split(' ')], {
          stdio: ['ignore', 'pipe', 'inherit'],
        })
    }
  } finally {
    rmSync(root, { recursive: true })
  }
  await packSystem(system, process.arch, readFileSync(process.execPath))
}

async function packSystem({ name, before, after }: System, arch: string, node: Buffer): Promise<void> {
  const output = binaryPath(name, arch)
  const prepared = `${CACHE}/node${extname(output)}`
  writeFileSync(prepared, before?.(node) ?? node, { mode: 0o755 })
  await pack({ platform: name, arch, node: prepared, assets: ASSETS, output })
  if (after) writeFileSync(output, after(readFileSync(output)))
  if (process.platform === 'darwin') execFileSync('codesign', ['--force', '--sign', '-', output])
}

/**
 * The Node executable of an npm package for another system than this one, which npm therefore did not install. It is
 * fetched once, and trusted each time only after a look at the lock file, which pins it.
 */
function foreignNode(system: string, arch: string): Buffer {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const name = `node-${system}-${arch}`
  const { version, integrity } = packages[`node_modules/${name}`]
  const archive = join(CACHE, `${name}-${version}.tgz`)
  if (!existsSync(archive)) {
    execFileSync('npm', ['pack', '--silent', '--pack-destination', CACHE, `${name}@${version}`])
  }
  const found = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`
  if (found !== integrity)
    throw new Error(`${archive} does not match package-lock.json: delete it and try again`)
  const executable = `package/bin/node${system === 'win' ? '.exe' : ''}`
  execFileSync('tar', ['-xzf', archive, '-C', CACHE, executable])
  return readFileSync(join(CACHE, executable))
}
