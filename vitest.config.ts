import { defineConfig } from 'vitest/config'
import { hostBinary } from './scripts/package/host.ts'

const E2E = 'test/e2e/**/*.test.ts'
const given = process.env['SOFTSIM_BIN']

/** The end-to-end tests on one build of the program, dist/softsim.cjs where none is named. */
const endToEnd = (name: string, binary?: string) => ({
  extends: true as const,
  test: { name, include: [E2E], ...(binary ? { env: { SOFTSIM_BIN: binary } } : {}) },
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

const everything = [unit, endToEnd('bundle'), endToEnd('binary', hostBinary)]

export default defineConfig({
  test: {
    projects: given ? [endToEnd('given', given)] : everything,
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
