import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const CHECK = fileURLToPath(new URL('../../scripts/torture/earlier.ts', import.meta.url))
const KILLED = fileURLToPath(new URL('../fixtures/killed-1.1.json', import.meta.url))

/** In a process of its own, because the modules of the program are loaded in another way there. */
test('what killed calls of version 1.1 left is used where in doubt, named, and handed out once', () => {
  const { stdout, stderr } = spawnSync(process.execPath, [CHECK, KILLED], { encoding: 'utf8' })
  expect(stderr).toBe('')
  const lines = stdout.trim().split('\n')
  expect(lines.slice(0, -1)).toEqual([])
  expect(JSON.parse(lines.at(-1) ?? '').count).toBeGreaterThan(500)
})
