/** How the macOS executable counts the segment that was added to it. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { countSegment } from '../../scripts/package/macho.ts'
import {
  commandsOf,
  fixupsSize,
  importsOf,
  linkeditOf,
  machO,
  segmentsOf,
  startsOf,
  symbolsOf,
} from '../support/macho.ts'

const ROOT = join(import.meta.dirname, '../..')
const BINARY = join(ROOT, 'dist/bin/softsim-macos-x64')
const NODE = join(ROOT, 'node_modules/.cache/package/package/bin/node')

const SEGMENTS = ['__TEXT', '__DATA', 'NODE_SEA', '__LINKEDIT']
const DATA_FIXUPS = '<fixups of __DATA>'

/** A file in which a segment is not counted, and the same file with it counted. */
function both(segments = SEGMENTS): [before: Buffer, after: Buffer] {
  const file = machO(segments, { counted: segments.length - 1 })
  return [file, countSegment(Buffer.from(file), 'NODE_SEA')]
}

test('the table of fixups counts the segment, which has none', () => {
  const [before, after] = both()
  expect(startsOf(before)).toEqual([undefined, DATA_FIXUPS, undefined])
  expect(startsOf(after)).toEqual([undefined, DATA_FIXUPS, undefined, undefined])
})

test('the entries of the segments behind it move', () => {
  const [, after] = both(['__TEXT', 'NODE_SEA', '__DATA', '__LINKEDIT'])
  expect(startsOf(after)).toEqual([undefined, undefined, DATA_FIXUPS, undefined])
})

test('all that lies behind the table has moved by eight bytes, and is found there', () => {
  const [before, after] = both().map(linkeditOf)
  expect(new Set(before?.map(({ text }) => text)).size).toBe(9)
  expect(after).toEqual(before?.map((part) => ({ ...part, offset: part.offset + 8 })))
})

test('the fixups and the last segment have grown by eight bytes, the other segments are as they were', () => {
  const [before, after] = both()
  expect(after).toHaveLength(before.length + 8)
  expect(fixupsSize(after)).toBe(fixupsSize(before) + 8)
  expect(segmentsOf(after).slice(0, -1)).toEqual(segmentsOf(before).slice(0, -1))
  expect(segmentsOf(before).at(-1)).toEqual({ name: '__LINKEDIT', bytes: 0x1000, memory: 0x1000 })
  expect(segmentsOf(after).at(-1)).toEqual({ name: '__LINKEDIT', bytes: 0x1008, memory: 0x2000 })
})

test('offsets of what is not there stay zero', () => {
  const [, after] = both()
  const [dysymtab] = commandsOf(after, 11)
  expect([32, 40, 48, 64, 72].map((field) => dysymtab?.readUInt32LE(field))).toEqual([0, 0, 0, 0, 0])
})

test.each<[why: string, file: Buffer, message: string]>([
  ['the segment is missing', machO(['__TEXT', '__DATA', '__LINKEDIT'], { counted: 3 }), 'no segment'],
  ['the segment is the last', machO(['__TEXT', '__LINKEDIT', 'NODE_SEA'], { counted: 2 }), 'before the last'],
  ['it is counted already', machO(SEGMENTS, { counted: 4 }), '4 segments with fixups of 4'],
  ['there are no fixups', machO(SEGMENTS, { counted: 3, hasFixups: false }), 'no chained fixups'],
])('a file is refused where %s', (_, file, message) => {
  expect(() => countSegment(file, 'NODE_SEA')).toThrow(message)
})

test.skipIf(!existsSync(BINARY) || !existsSync(NODE))('the finished executable still has all of Node', () => {
  const [node, binary] = [readFileSync(NODE), readFileSync(BINARY)]
  const names = segmentsOf(binary).map(({ name }) => name)
  expect(names).toEqual(
    segmentsOf(node)
      .map(({ name }) => name)
      .toSpliced(-1, 0, 'NODE_SEA'),
  )
  const starts = startsOf(node).toSpliced(names.indexOf('NODE_SEA'), 0, undefined)
  // Not toEqual: where they differ, it would print megabytes.
  expect(startsOf(binary).join() === starts.join(), 'fixups').toBe(true)
  expect(importsOf(binary)).toEqual(importsOf(node))
  expect(symbolsOf(binary) === symbolsOf(node), 'symbols').toBe(true)
  const [expected, found] = [node, binary].map(linkeditOf)
  // Injecting writes the other tables of the last segment anew.
  for (const name of ['function starts', 'indirect symbols']) {
    const [a, b] = [expected, found].map((parts) => parts?.find((part) => part.name === name)?.text)
    expect(a === b, name).toBe(true)
  }
})
