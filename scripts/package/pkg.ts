/** pkg, asked for one executable. */
import childProcess from 'node:child_process'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { promisify } from 'node:util'

/** What is asked of pkg. */
interface Packed {
  /** pkg's word for the system: linux, macos or win. */
  platform: string
  arch: string
  /** The Node executable to put the program in. */
  node: string
  /** The files that start.cjs reads, by name. */
  assets: Record<string, string>
  output: string
}

const START = 'scripts/package/start.cjs'

/** Node's options in the executable. README.md says what each is for. */
const OPTIONS = [
  '--min-semi-space-size=4',
  '--v8-pool-size=1',
  '--random-seed=32',
  '--no-concurrent-recompilation',
  '--no-concurrent-sparkplug',
  '--disable-sigusr1',
]

const require = createRequire(import.meta.url)
const run = promisify(childProcess.execFile)

/**
 * Packs start.cjs and its assets into an executable. This is the function behind `pkg --sea`, because the command line
 * drops `seaConfig`. It is not a public interface, so mind, when pkg is updated (its version is pinned for that):
 * - `seaConfig` goes to Node as it is, and its `main` wins over pkg's absolute path, which would end up in the binary;
 * - Node must therefore make the blob in this directory, while pkg has changed into a temporary one;
 * - pkg would run a foreign executable, to ask its version or to make the blob: each process it starts is this Node
 *   instead. That is right while Node's blob format is the same in both versions; compare what
 *   `node --experimental-sea-config` of the two makes when they are far apart.
 */
export async function pack({ platform, arch, node, assets, output }: Packed): Promise<void> {
  await loadSea()(resolve(START), {
    targets: [{ nodeRange: 'node24', platform, arch, output: resolve(output) }],
    nodePath: resolve(node),
    signature: false,
    seaConfig: {
      main: START,
      disableExperimentalSEAWarning: true,
      useSnapshot: false,
      useCodeCache: false,
      // An empty configuration, by the names that Node's `os.devNull` has on each system.
      execArgv: [...OPTIONS, `--openssl-config=${platform === 'win' ? '\\\\.\\nul' : '/dev/null'}`],
      execArgvExtension: 'none',
      assets,
    },
  })
}

/** Loads pkg with its way to start processes replaced. */
function loadSea(): (entry: string, options: object) => Promise<void> {
  const { execFile } = childProcess
  const cwd = process.cwd()
  const here = (_file: string, args: string[]) => run(process.execPath, args, { cwd })
  childProcess.execFile = Object.assign(() => {}, { [promisify.custom]: here }) as unknown as typeof execFile
  try {
    return require('@yao-pkg/pkg/lib-es5/sea.js').default
  } finally {
    childProcess.execFile = execFile
  }
}
