import { readFileSync } from 'node:fs'
import { expect, inject, test } from 'vitest'
import { draw } from '../../scripts/demo/draw.ts'
import { session } from '../../scripts/demo/session.ts'
import { program } from '../support/softsim.ts'

test('the picture in the README shows what the program prints (npm run picture makes it)', async () => {
  const steps = await session(program(), inject('keys'))
  expect(draw(steps)).toBe(readFileSync('.github/session.svg', 'utf8'))
})
