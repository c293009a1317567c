/** Runs for each file of tests, because files share the modules of a worker. */
import { afterAll } from 'vitest'
import { closeAll } from './sandbox.ts'
import { endAll } from './softsim.ts'

// Not after each test: tests that mostly wait run side by side. One that failed may have left a process.
afterAll(async () => {
  endAll()
  await closeAll()
})
