/** How the macOS executable counts the segment that was added to it. That it starts, a Mac tells. */
import { expect, test } from 'vitest'
import { countSegment } from '../../scripts/package/macho.ts'

const PAGE = 0x1000
/** Where the table of fixups is, behind its header. */
const TABLE = PAGE + 16
const SEGMENTS = ['__TEXT', 'NODE_SEA', '__DATA', '__LINKEDIT']
const DATA_FIXUPS = '<fixups of __DATA>'

const words = (...values: number[]) => Buffer.from(Uint32Array.from(values).buffer)
const wordsAt = (bytes: Buffer, at: number, count: number) =>
  Array.from({ length: count }, (_, n) => bytes.readUInt32LE(at + 4 * n))

function segment(name: string): Buffer {
  const at = name === '__LINKEDIT' ? PAGE : 0
  const command = Buffer.concat([words(0x19, 72), Buffer.alloc(64)])
  command.write(name, 8, 'latin1')
  for (const [n, value] of [at, PAGE, at, PAGE].entries()) command.writeBigUInt64LE(BigInt(value), 24 + n * 8)
  return command
}

/** A file of these segments, of which the table counts so many. Its last page has the fixups of __DATA, and symbols. */
function machO(names: readonly string[], counted: number, hasFixups = true): Buffer {
  const known = names.filter((name) => name !== 'NODE_SEA')
  const entries = Array.from({ length: counted }, (_, n) => (known[n] === '__DATA' ? 4 + 4 * counted : 0))
  const fixups = Buffer.concat([words(0, 16, 100, 200), words(counted, ...entries), Buffer.from(DATA_FIXUPS)])
  const symbols = PAGE + fixups.length
  const commands = [
    ...names.map(segment),
    words(2, 24, symbols, 1, symbols + 8, 9),
    words(11, 80, ...Array(18).fill(0)),
    ...(hasFixups ? [words(0x80000034, 16, PAGE, fixups.length)] : []),
  ]
  const start = Buffer.concat([words(0xfeedfacf, 0, 0, 0, commands.length, 0, 0, 0), ...commands])
  const last = Buffer.concat([fixups, Buffer.from('<symbol><strings>')])
  return Buffer.concat([start, Buffer.alloc(PAGE - start.length), last, Buffer.alloc(PAGE - last.length)])
}

test('the table counts the segment, which has no fixups; what lies behind the table moves, and is found there', () => {
  const before = machO(SEGMENTS, 3)
  const after = countSegment(Buffer.from(before), 'NODE_SEA')
  expect(after).toHaveLength(before.length + 8)
  const [count, ...entries] = wordsAt(after, TABLE, 5)
  expect([count, entries.map((entry) => entry !== 0)]).toEqual([4, [false, false, true, false]])
  const data = TABLE + (entries[2] ?? 0)
  expect(after.toString('latin1', data, data + DATA_FIXUPS.length)).toBe(DATA_FIXUPS)
  expect(wordsAt(after, PAGE, 4)).toEqual([0, 16, 108, 208])

  const last = 32 + 3 * 72
  expect(after.subarray(0, last)).toEqual(before.subarray(0, last))
  const sizes = (file: Buffer) => [32, 48].map((field) => Number(file.readBigUInt64LE(last + field)))
  const actual = [sizes(before), sizes(after)]
  expect(actual).toEqual([
    [PAGE, PAGE],
    [2 * PAGE, PAGE + 8],
  ])
  const [symbols = 0, , strings = 0] = wordsAt(after, last + 72 + 8, 3)
  expect(after.toString('latin1', symbols, strings + 9)).toBe('<symbol><strings>')
  // Offsets of what is not there stay zero.
  expect(wordsAt(after, last + 72 + 24 + 8, 18)).toEqual(Array(18).fill(0))
  const fixups = last + 72 + 24 + 80
  expect(after.readUInt32LE(fixups + 12)).toBe(before.readUInt32LE(fixups + 12) + 8)
})

test.each<[why: string, file: Buffer, message: string]>([
  ['the segment is missing', machO(['__TEXT', '__DATA', '__LINKEDIT'], 3), 'no segment'],
  ['the segment is the last', machO(['__TEXT', '__LINKEDIT', 'NODE_SEA'], 2), 'before the last'],
  ['it is counted already', machO(SEGMENTS, 4), '4 segments with fixups of 4'],
  ['there are no fixups', machO(SEGMENTS, 3, false), 'no chained fixups'],
])('a file is refused where %s', (_, file, message) => {
  expect(() => countSegment(file, 'NODE_SEA')).toThrow(message)
})
