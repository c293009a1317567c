/** What others do while a call waits for them. */
import { appendFileSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { begin, settle } from '../../src/store/claims.ts'
import { openReceipt } from '../../src/store/receipts.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { claimant, lot, messages, names, X } from '../support/lot.ts'
import { iccid } from '../support/profiles.ts'

const { waits } = vi.hoisted(() => ({ waits: [] as (() => void)[] }))
vi.mock('../../src/pause.ts', () => ({ pause: () => waits.shift()?.() }))

test('a line that another station goes on writing is not cut off', () => {
  const path = join(temporaryDirectory(), 'r.jsonl')
  const receipt = {
    ...{ time: '2026-03-01T06:00:00.000Z', station: 'A' },
    ...{ iccid: iccid(1), device: 'D', directory: '/d' },
  }
  const line = `${JSON.stringify(receipt)}\n`
  writeFileSync(path, line.slice(0, 50))
  waits.push(() => appendFileSync(path, line.slice(50)))
  openReceipt(path, [temporaryDirectory()])
  expect(readFileSync(path, 'utf8')).toBe(line)
})

test('what a call that lives uses and prints is neither voided nor named', async () => {
  const directory = lot(1)
  const { draft, decision, used, held } = begin(claimant(directory), X(1), undefined)?.places ?? {}
  waits.push(() => {
    renameSync(draft ?? '', decision ?? '')
    renameSync(decision ?? '', used ?? '')
    rmSync(held ?? '')
  })
  const { said, ...sink } = messages()
  await settle(directory, sink)
  expect([names(directory), said]).toEqual([[`__${X(1)}`], []])
})
