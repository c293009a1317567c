/** What another station does while a call waits for the rest of its line. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { openReceipt } from '../../src/store/receipts.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'

const { waits } = vi.hoisted(() => ({ waits: [] as (() => void)[] }))
vi.mock('../../src/pause.ts', () => ({ pause: () => waits.shift()?.() }))

test('a line that another station goes on writing is not cut off', () => {
  const path = join(temporaryDirectory(), 'r.jsonl')
  const receipt = {
    time: '2026-03-01T06:00:00.000Z',
    station: 'A',
    iccid: iccid(1),
    device: 'D',
    directory: '/d',
  }
  const line = `${JSON.stringify(receipt)}\n`
  writeFileSync(path, line.slice(0, 50))
  waits.push(() => appendFileSync(path, line.slice(50)))
  openReceipt(path, [temporaryDirectory()])
  expect(readFileSync(path, 'utf8')).toBe(line)
})
