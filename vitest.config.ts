import { globSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { hostBinary } from './scripts/package/host.ts'

/** What runs the program as a process. */
const E2E = ['test/e2e/**/*.test.ts', 'test/stations/*.test.ts', 'test/docs/{commands,manual}.test.ts']

/** Modules, timers and variables that a test replaces would be replaced for the next file, too. */
const REPLACES = /\bvi\.(mock|spyOn|stub|use)/

const APART = globSync('test/**/*.test.ts')
  .filter((path) => REPLACES.test(readFileSync(path, 'utf8')))
  .map((path) => path.replaceAll('\\', '/'))

const given = process.env['SOFTSIM_BIN']

/** What differs where Node starts the program, and not the program Node: it opens what is closed. */
const BY_NODE = ['closed']

/** What may also differ on another Node than that of the executable: signals, files, the network, threads, messages. */
const ON_OTHER_NODE = ['signals', 'terminal', 'command-line', 'fetch', 'next', 'receipt', 'secrets']

const onNode = [...BY_NODE, ...(process.env['SOFTSIM_NODE'] ? ON_OTHER_NODE : [])]

const nameOfTest = (name: string) => `test/e2e/${name}.test.ts`

/** End-to-end tests on one build of the program, dist/softsim.cjs where none is named. */
const endToEnd = (name: string, { binary, only }: { binary?: string; only?: string[] }) => ({
  extends: true as const,
  // They test no module of their own process: what one file has loaded does for all.
  test: {
    name,
    include: only ? ['transcripts', ...only].map(nameOfTest) : E2E,
    isolate: false,
    setupFiles: 'test/support/after-file.ts',
    env: { ...(binary && { SOFTSIM_BIN: binary }), ...(only && { TRANSCRIPTS: only.join() }) },
  },
})

/** Tests of modules. A process for each file takes longer than most of them: only those that need one have it. */
const unit = (
  name: string,
  include: string[],
  { exclude, isolate }: { exclude: string[]; isolate: boolean },
) => ({
  extends: true as const,
  test: { name, include, exclude, isolate, setupFiles: 'test/support/seed.ts' },
})

const everything = [
  unit('unit', ['test/**/*.test.ts'], { exclude: [...E2E, ...APART], isolate: false }),
  unit('unit-apart', APART, { exclude: E2E, isolate: true }),
  endToEnd('bundle', { only: onNode }),
  endToEnd('binary', { binary: hostBinary }),
]

/** They take 10 s and more: at the end, all the others would wait for them. */
const LONGEST = /\/(transcripts|misbehaving-services|order-of-steps|fixed|stations|completion)\.test\.ts$/

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => LONGEST.test(moduleId)
    return (await super.sort(files)).sort((one, other) => Number(isLong(other)) - Number(isLong(one)))
  }
}

export default defineConfig({
  test: {
    projects: given ? [endToEnd('given', { binary: given })] : everything,
    sequence: { sequencer: LongestFirst },
    globalSetup: 'test/support/setup.ts',
    // Clipanion's modules can be read by a bundler only: they import directories.
    server: { deps: { inline: ['clipanion'] } },
    // Most of the time a test waits, for a process or for a service.
    maxWorkers: 6,
    // Only a test that hangs takes so long, however busy the machine is.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    teardownTimeout: 300_000,
  },
})
