import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { openReceipt, type Receipt, readReceipts } from '../../src/store/receipts.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { hasSmallDisks, smallDisk } from '../support/disk.ts'
import { iccid } from '../support/profiles.ts'
import { hasPosix } from '../support/system.ts'

const receipt = (n: number, more: Partial<Receipt> = {}): Receipt => ({
  ...{ time: '2026-03-01T06:00:00.000Z', station: 'line-1', iccid: iccid(n) },
  ...{ device: `Gerät-${n}`, directory: '/srv/profiles' },
  ...more,
})
const line = (n: number, more: Partial<Receipt> = {}) => `${JSON.stringify(receipt(n, more))}\n`
const newFile = (text?: string | Uint8Array): string => {
  const path = join(temporaryDirectory(), 'r.jsonl')
  if (text !== undefined) writeFileSync(path, text)
  return path
}
const append = (path: string, ...receipts: Receipt[]) =>
  openReceipt(path, [temporaryDirectory()]).append(receipts)

const usage = expect.objectContaining({ outcome: 'usage' })
const disk = expect.objectContaining({ outcome: 'disk' })

const MOVED = { device: null, to: '/media/stick', move: 'a.b', from: 'c' }
const ALL = [
  receipt(1),
  receipt(1, { again: true }),
  receipt(2, MOVED),
  receipt(3, { result: 'fail', note: 'no answer' }),
]

describe('what is appended', () => {
  test('is read again, each with its file and line; a directory stands for its files', () => {
    const path = newFile()
    for (const each of ALL) append(path, each)
    append(path, receipt(4), receipt(5))
    const all = [...ALL, receipt(4), receipt(5)]
    expect(readReceipts([path])).toEqual(all.map((each, at) => ({ ...each, source: `${path}:${at + 1}` })))
    mkdirSync(join(path, '..', 'more.jsonl.old'))
    writeFileSync(join(path, '..', 'notes.txt'), 'no receipts: {"directory":"a","iccid":"8"}')
    writeFileSync(join(path, '..', 'package.json'), '{"directory":"a"}')
    writeFileSync(join(path, '..', 'a.jsonl'), line(6))
    // On the root of a disk, nobody may read what is in it.
    const closed = [
      'lost+found',
      '.Trash-1001',
      '.Spotlight-V100',
      'System Volume Information',
      '$Recycle.Bin',
    ]
    for (const name of closed) {
      mkdirSync(join(path, '..', name))
      writeFileSync(join(path, '..', name, 'a.jsonl'), line(7))
    }
    // A person may name a directory almost so.
    mkdirSync(join(path, '..', 'was lost+found'))
    writeFileSync(join(path, '..', 'was lost+found', 'a.jsonl'), line(9))
    if (hasPosix) symlinkSync('nowhere', join(path, '..', 'b.jsonl'))
    writeFileSync(join(path, '..', 'line-2.jsonl.gz'), gzipSync(line(7)))
    // What a spreadsheet makes of receipts.
    writeFileSync(join(path, '..', 'line-3.csv'), `"${line(7).replaceAll('"', '""')}"`)
    // A backup beside the receipts says nothing.
    mkdirSync(join(path, '..', 'profiles', '.devices'), { recursive: true })
    writeFileSync(join(path, '..', '.DS_Store'), 'x')
    for (const name of ['.devices/a', `__${iccid(7)}.json`])
      writeFileSync(join(path, '..', 'profiles', name), '{}')
    const said: string[] = []
    expect(
      readReceipts([`${join(path, '..')}/`], (text) => said.push(text)).map(({ iccid }) => iccid),
    ).toEqual([receipt(6), ...all, receipt(9)].map((each) => each.iccid))
    expect(said.map((text) => /([^/\\]+) has no receipts/.exec(text)?.[1])).toEqual([
      'line-2.jsonl.gz',
      'line-3.csv',
      'notes.txt',
      'package.json',
    ])
    for (let n = 0; n < 30; n++) writeFileSync(join(path, '..', `photo-${n}`), 'x')
    expect(readReceipts([join(path, '..')], (text) => said.push(text))).toHaveLength(all.length + 2)
    expect(said).toHaveLength(4 + 20)
  })

  test('begins with the time, and has the full path of the directory', () => {
    const path = newFile()
    append(path, {
      device: null,
      directory: 'profiles',
      iccid: iccid(1),
      station: 's',
      time: '2026-03-01T06:00Z',
    })
    const directory = JSON.stringify(join(process.cwd(), 'profiles'))
    expect(readFileSync(path, 'utf8')).toBe(
      `{"time":"2026-03-01T06:00Z","station":"s","iccid":"${iccid(1)}","device":null,"directory":${directory}}\n`,
    )
  })

  test.runIf(hasPosix)('goes to a file as private as the profiles', () => {
    const directory = join(temporaryDirectory(), 'profiles')
    mkdirSync(directory, 0o750)
    const path = newFile()
    openReceipt(path, [directory, temporaryDirectory()])
    expect(statSync(path).mode & 0o777).toBe(0o640)
  })

  test('does not make a file again that is gone: its disk may be', () => {
    const path = newFile()
    const file = openReceipt(path, [temporaryDirectory()])
    rmSync(path)
    expect(() => file.append([receipt(1)])).toThrow(disk)
    expect(() => readReceipts([path])).toThrow(disk)
  })

  test.runIf(hasSmallDisks)('has room, or nothing is begun', async () => {
    const { path, fill, close } = await smallDisk(1)
    try {
      const file = join(path, 'r.jsonl')
      openReceipt(file, [path])
      fill(0)
      expect(() => openReceipt(file, [path])).toThrow(disk)
    } finally {
      await close()
    }
  })
})

const TORN: [words: string, left: string | Uint8Array, whole: number[]][] = [
  ['a part of a line is none', line(1) + line(2).slice(0, 60), [1]],
  ['a part of a letter is none', Buffer.from(line(1) + line(2)).subarray(0, -40), [1]],
  ['zeros are none', `${line(1) + line(2).slice(0, 20)}\0\0\0`, [1]],
  ['the first line is none', '{"ti', []],
  ['a part of a note that is JSON is none', line(1, { note: '{"a":{"b":"c"},"d' }).slice(0, -4), []],
  ['a whole line gets its end', line(1) + line(2).trimEnd(), [1, 2]],
]

test.each(TORN)('of what a killed call has left, %s', (_, left, whole) => {
  const path = newFile(left)
  append(path, receipt(9))
  append(path, receipt(8))
  expect(readFileSync(path).subarray(Buffer.from(left).length).toString()).toBe(`\n${line(9)}${line(8)}`)
  expect(readReceipts([path]).map((each) => each.iccid)).toEqual([...whole, 9, 8].map((n) => iccid(n)))
})

test('a line gets its own beginning also if another call has left a part of one meanwhile', () => {
  const path = newFile(line(1))
  const file = openReceipt(path, [temporaryDirectory()])
  appendFileSync(path, line(2).slice(0, 50))
  file.append([receipt(3)])
  expect(readReceipts([path]).map((each) => each.iccid)).toEqual([iccid(1), iccid(3)])
})

const OTHERS: [words: string, text: string][] = [
  ['a key', '-----BEGIN PRIVATE KEY-----\n'],
  ['a profile', JSON.stringify({ iccid: iccid(1), profile: 'AAAA' })],
  ['receipts with a mark', `\ufeff${line(1)}`],
  ['receipts as UTF-16', Buffer.from(line(1), 'utf16le').toString('latin1')],
  ['a log', '{"timestamp":1}\n'],
]

test.runIf(hasSmallDisks)('a file system that tells no number of blocks is not full', async () => {
  // Without a limit.
  const { path, close } = await smallDisk(0)
  try {
    append(join(path, 'r.jsonl'), receipt(1))
    expect(readReceipts([join(path, 'r.jsonl')])).toHaveLength(1)
  } finally {
    await close()
  }
})

describe('another file', () => {
  test.each(OTHERS)('is not written to: %s', (_, text) => {
    const path = newFile(text)
    expect(() => openReceipt(path, [temporaryDirectory()])).toThrow(usage)
    expect(readFileSync(path, 'utf8')).toBe(text)
  })

  test('is not made where there is a directory, nor under the name of a profile', () => {
    const directory = temporaryDirectory()
    for (const name of [`${iccid(1)}.json`, `__${iccid(1)}.json`]) {
      expect(() => openReceipt(join(directory, name), [directory])).toThrow(usage)
      expect(existsSync(join(directory, name))).toBe(false)
    }
    expect(() => openReceipt(directory, [directory])).toThrow(usage)
    expect(() => openReceipt(join(directory, 'missing', 'r.jsonl'), [directory])).toThrow(disk)
  })
})

const utf16 = Buffer.from(`\ufeff${line(1)}`, 'utf16le')
const noReceipt = (change: (text: string) => string) => change(line(1))

/** Each is the second line. */
const REFUSED: [words: string, bytes: string | Uint8Array][] = [
  ['UTF-16, as PowerShell appends', utf16],
  ['a byte order mark', `\ufeff${line(1)}`],
  ['a lost letter', noReceipt((text) => text.replace('ä', '\ufffd'))],
  ['a letter of another encoding', Buffer.from(line(1), 'latin1')],
  ['a line of another program', '{"time":"2026"}'],
  ['two lines in one', line(1).trimEnd() + line(2)],
  [
    'a line behind one that is torn in a text',
    line(1).slice(0, line(1).indexOf('"station":"') + 12) + line(2),
  ],
  ['a spreadsheet', noReceipt((text) => text.replaceAll(',', ';'))],
  ['no ICCID', noReceipt((text) => text.replace(iccid(1), '8988'))],
  ['no time', noReceipt((text) => text.replace('2026-03', '2026-13'))],
  ['no device', noReceipt((text) => text.replace('"Gerät-1"', '""'))],
  ['a whole last line that has lost a letter', line(1).replace('ä', '\ufffd').trimEnd()],
  ['a last line of something else', 'note'],
]

test.each(REFUSED)('no receipt is read from a file with %s', (_, bytes) => {
  const path = newFile(Buffer.concat([Buffer.from(line(8)), Buffer.from(bytes)]))
  expect(() => readReceipts([path])).toThrow(usage)
  expect(() => readReceipts([path])).toThrow(`${path}:2 is not a receipt`)
})

test('a line that an editor has wrapped is not passed over', () => {
  expect(() => readReceipts([newFile(line(1).replace(',"device"', ',\n"device"'))])).toThrow(usage)
})

test('lines of a file may be torn, or empty, or end as on Windows', () => {
  const texts = [line(1) + line(2).slice(0, 33), `\n${line(3).replace('\n', '\r\n')}\n`, '\0\0', '']
  const paths = texts.map(newFile)
  const said: string[] = []
  const sources = readReceipts(paths, (text) => said.push(text)).map(({ source }) => source)
  expect(sources).toEqual([`${paths[0]}:1`, `${paths[1]}:2`])
  // Only the last line of a file may be one of which the rest is missing.
  append(paths[0] ?? '', receipt(4))
  readReceipts(paths, (text) => said.push(text))
  expect(said.map((text) => text.split(' is cut off')[0])).toEqual([
    `${paths[0]}:2`,
    `${paths[2]}:1`,
    `${paths[2]}:1`,
  ])
})

test('what was added behind a line, or by PowerShell, is refused, and not taken for torn', () => {
  for (const rest of [`${line(2).trimEnd()}  # scrapped\n`, Buffer.from(line(2), 'utf16le')]) {
    const path = newFile(Buffer.concat([Buffer.from(line(1)), Buffer.from(rest)]))
    expect(() => readReceipts([path])).toThrow(':2 is not a receipt')
  }
})

test('a directory without receipts is refused, and what may be packed there is named, also if it is hidden itself', () => {
  const directory = join(temporaryDirectory(), '.hidden')
  mkdirSync(directory)
  expect(() => readReceipts([directory])).toThrow(`no file of receipts is in ${directory}`)
  expect(() => readReceipts([directory])).toThrow(usage)
  writeFileSync(join(directory, 'a.zip'), 'x')
  writeFileSync(join(directory, '.zip'), 'x')
  const said: string[] = []
  expect(() => readReceipts([directory], (text) => said.push(text))).toThrow(usage)
  expect(said).toEqual([
    `${join(directory, 'a.zip')} has no receipts: if it is packed, or was saved by another program, name the original`,
  ])
})

test('what a device says that is not UTF-8 makes no receipt that nobody can read', () => {
  const path = newFile()
  append(path, receipt(1, { note: 'a\ufffdb\ufffd' }))
  expect(readReceipts([path]).map(({ note }) => note)).toEqual(['a?b?'])
})

test('in a directory, what was written again is not passed over: a mark is refused, an empty line is none', () => {
  const directory = temporaryDirectory()
  const put = (bytes: Buffer) => writeFileSync(join(directory, 'b.jsonl'), bytes)
  writeFileSync(join(directory, 'a.jsonl'), line(1))
  for (const encoding of ['utf8', 'utf16le'] as const) {
    put(Buffer.from(`\ufeff${line(2)}`, encoding))
    expect(() => readReceipts([directory])).toThrow(/b\.jsonl:1 is not a receipt/)
  }
  // Its first line has lost its beginning.
  put(Buffer.from(line(1).slice(40) + line(2)))
  expect(() => readReceipts([directory])).toThrow(/b\.jsonl:1 is not a receipt/)
  // Another program has sorted what is in a line, and nothing is lost.
  put(Buffer.from(`${JSON.stringify(Object.fromEntries(Object.entries(receipt(2)).sort()))}\n`))
  expect(readReceipts([directory]).map(({ iccid }) => iccid)).toEqual([iccid(1), iccid(2)])
  put(Buffer.from(`\r\n${line(2)}`))
  expect(readReceipts([directory]).map(({ iccid }) => iccid)).toEqual([iccid(1), iccid(2)])
  if (hasPosix) symlinkSync(newFile(line(3)), join(directory, 'c.jsonl'))
  const linked = hasPosix ? [iccid(3)] : []
  expect(readReceipts([directory]).map(({ iccid }) => iccid)).toEqual([iccid(1), iccid(2), ...linked])
})
