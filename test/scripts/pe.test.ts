/** How the Windows executable loses its signature, and nothing else. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { unsignPe } from '../../scripts/package/pe.ts'

const OPTIONAL_HEADER = 0x80 + 24
const CHECKSUM = OPTIONAL_HEADER + 64
const CERTIFICATES = OPTIONAL_HEADER + 112 + 4 * 8
const NODE = join(import.meta.dirname, '../../node_modules/.cache/package/package/bin/node.exe')

const PROGRAM = 'all that Windows runs'
const SIGNATURE = Buffer.from('who signed it...')

/** A PE file: its headers, full of what nobody may touch, the program, and what comes behind. */
function peOf(behind: Buffer, checksum: number): Buffer {
  const headers = Buffer.alloc(0x200, 0xaa)
  headers.write('MZ')
  headers.writeUInt32LE(0x80, 0x3c)
  headers.write('PE\0\0', 0x80)
  headers.writeUInt16LE(0x20b, OPTIONAL_HEADER)
  headers.writeUInt32LE(checksum, CHECKSUM)
  const start = headers.length + PROGRAM.length
  headers.writeUInt32LE(behind.length > 0 ? start : 0, CERTIFICATES)
  headers.writeUInt32LE(behind.length, CERTIFICATES + 4)
  return Buffer.concat([headers, Buffer.from(PROGRAM), behind])
}

test('the signature goes, with what points to it and the checksum over it', () => {
  const signed = peOf(SIGNATURE, 0x12345678)
  const kept = Buffer.from(signed)
  expect(unsignPe(signed)).toEqual(peOf(Buffer.alloc(0), 0))
  expect(signed).toEqual(kept)
})

test('a file without a signature stays as it is', () => {
  const unsigned = peOf(Buffer.alloc(0), 0x12345678)
  expect(unsignPe(unsigned)).toEqual(unsigned)
})

test('what lies behind the signature would be lost, and is refused', () => {
  const more = Buffer.concat([peOf(SIGNATURE, 0), Buffer.from('more')])
  expect(() => unsignPe(more)).toThrow('not the last thing')
})

test('a 32-bit file, whose headers are elsewhere, is refused', () => {
  const exe = peOf(SIGNATURE, 0)
  exe.writeUInt16LE(0x10b, OPTIONAL_HEADER)
  expect(() => unsignPe(exe)).toThrow('not a 64-bit PE file')
})

test.skipIf(!existsSync(NODE))('the Node executable keeps all but its signature', () => {
  const node = readFileSync(NODE)
  const optionalHeader = node.readUInt32LE(0x3c) + 24
  const [checksum, entry] = [optionalHeader + 64, optionalHeader + 112 + 4 * 8]
  const signature = node.readUInt32LE(entry)
  // WIN_CERT_REVISION_2_0 and WIN_CERT_TYPE_PKCS_SIGNED_DATA: what is cut off is a signature.
  expect([node.readUInt16LE(signature + 4), node.readUInt16LE(signature + 6)]).toEqual([0x200, 2])

  const expected = Buffer.from(node.subarray(0, signature))
  expected.fill(0, checksum, checksum + 4).fill(0, entry, entry + 8)
  expect(unsignPe(node).equals(expected)).toBe(true)
  expect(Math.max(...sectionEnds(node))).toBeLessThanOrEqual(expected.length)
})

/** Where the bytes of each section end in the file. */
function sectionEnds(exe: Buffer): number[] {
  const header = exe.readUInt32LE(0x3c)
  const table = header + 24 + exe.readUInt16LE(header + 20)
  return Array.from({ length: exe.readUInt16LE(header + 6) }, (_, i) => {
    const section = table + i * 40
    return exe.readUInt32LE(section + 16) + exe.readUInt32LE(section + 20)
  })
}
