import { defineConfig } from 'vitest/config'
import { hostBinary } from './scripts/package/host.ts'

const E2E = 'test/e2e/**/*.test.ts'
const given = process.env['SOFTSIM_BIN']

/** What may differ on the user's Node: start, streams, signals, the environment, the network, threads. */
const ON_NODE = [
  'closed',
  'command-line',
  'environment',
  'exit-codes',
  'fetch',
  'next',
  'receipt',
  'secrets',
  'signals',
  'terminal',
].map((name) => `test/e2e/${name}.test.ts`)

/** End-to-end tests on one build of the program, dist/softsim.cjs where none is named. */
const endToEnd = (name: string, { binary, include = [E2E] }: { binary?: string; include?: string[] }) => ({
  extends: true as const,
  test: { name, include, ...(binary ? { env: { SOFTSIM_BIN: binary } } : {}) },
})

/** All properties are here: fast-check is needed nowhere else. */
const unit = {
  extends: true as const,
  test: {
    name: 'unit',
    include: ['test/**/*.test.ts'],
    exclude: [E2E],
    setupFiles: 'test/support/fast-check.ts',
  },
}

const everything = [
  unit,
  endToEnd('bundle', { include: ON_NODE }),
  endToEnd('binary', { binary: hostBinary }),
]

export default defineConfig({
  test: {
    projects: given ? [endToEnd('given', { binary: given })] : everything,
    globalSetup: 'test/support/setup.ts',
    // Clipanion's modules can be read by a bundler only: they import directories.
    server: { deps: { inline: ['clipanion'] } },
    // Most of the time a test waits, for a process or for a service.
    maxWorkers: 4,
    // Only a test that hangs takes so long, however busy the machine is.
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
})
