import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/support/setup.ts',
    // Clipanion's modules can be read by a bundler only: they import directories.
    server: { deps: { inline: ['clipanion'] } },
    // Most of the time a test waits, for a process or for a service.
    maxWorkers: 4,
    // Many tests run the program many times, some on slow runners: far above what any of them takes.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
