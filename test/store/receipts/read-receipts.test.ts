import { execFileSync } from 'node:child_process'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { Receipts } from '../../../src/store/receipts/read-receipts.ts'
import { temporaryDirectory } from '../../support/directory.ts'
import { iccid } from '../../support/profiles.ts'

const SILENT = { follow: () => {} }

const lineOf = (n: number, device = `SN-${n}`) =>
  JSON.stringify({ time: '2026', station: 'line-1', device, iccid: iccid(n), directory: '/p', again: false })

function written(text: string | Buffer): string {
  const path = join(temporaryDirectory(), 'receipts.jsonl')
  writeFileSync(path, text)
  return path
}

/** The devices of each profile, with where that stands. */
async function devicesIn(...paths: string[]): Promise<string[]> {
  const receipts = await Receipts.read(paths, SILENT)
  const found = [...receipts.profiles()].map((each) =>
    each.map(({ device, source }) => `${device} ${source.replace(/^.*:/, '')}`).join(),
  )
  receipts.close()
  return found.sort()
}

test('each profile once, with all that is said of it, from any number of files', async () => {
  const files = Array.from({ length: 150 }, (_, n) => written(`${lineOf(n % 50, `SN-${n}`)}\n`))
  const found = await devicesIn(...files)
  expect(found).toHaveLength(50)
  expect(found).toContain('SN-7 1,SN-57 1,SN-107 1')
})

test('lines across the chunks that are read, with blank lines between them', async () => {
  const count = 12_000
  const text = Array.from({ length: count }, (_, n) => `${lineOf(n)}\n${n % 10 === 0 ? '\r\n' : ''}`).join('')
  const found = await devicesIn(written(text))
  expect(found).toHaveLength(count)
  expect(found).toContain(`SN-${count - 1} ${count + count / 10}`)
  expect(await devicesIn(written(Buffer.from(`\ufeff${text}`, 'utf16le')))).toEqual(found)
})

test.each([0, 40, lineOf(1).length - 1])(
  'files that were joined, of which the first one lacks %d characters and its line end',
  async (lost) => {
    const text = lineOf(1).slice(0, lineOf(1).length - lost) + lineOf(2)
    const receipts = await Receipts.read(
      [written(text), written(Buffer.from(`\ufeff${text}`, 'utf16le'))],
      SILENT,
    )
    expect([receipts.count, receipts.torn.length]).toEqual(lost === 0 ? [4, 0] : [2, 2])
    receipts.close()
  },
)

test('a line without an end that is longer than any receipt', async () => {
  const reading = Receipts.read([written('x'.repeat(3_000_000))], SILENT)
  await expect(reading).rejects.toThrow('is not a file of receipts')
})

test('a file that changes while it is read', async () => {
  const path = written(`${lineOf(1)}\n`)
  const receipts = await Receipts.read([path], SILENT)
  appendFileSync(path, `${lineOf(2)}\n`)
  expect([...receipts.profiles()].flat()).toHaveLength(1)
  writeFileSync(path, 'something else, as long as a receipt, or longer: '.repeat(5))
  expect(() => [...receipts.profiles()]).toThrow('they have changed meanwhile')
  receipts.close()
})

test('a long file takes little memory', () => {
  const lines = 200_000
  const path = written(Array.from({ length: lines }, (_, n) => `${lineOf(n)}\n`).join(''))
  const module = pathToFileURL(resolve('src/store/receipts/read-receipts.ts')).href
  const code = `
    import { Receipts } from '${module}'
    let count = 0
    for (const each of (await Receipts.read([${JSON.stringify(path)}], { follow() {} })).profiles()) count += each.length
    console.log(count)`
  const args = ['--max-old-space-size=20', '--max-semi-space-size=4', '--input-type=module', '-e', code]
  expect(execFileSync(process.execPath, args, { encoding: 'utf8' })).toBe(`${lines}\n`)
})
