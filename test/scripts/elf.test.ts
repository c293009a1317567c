/** What is taken off the Linux executable, and what must not be. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { stripElf } from '../../scripts/package/elf.ts'

const [PROGBITS, SYMTAB, STRTAB, NOBITS] = [1, 2, 3, 8]
const ALLOC = 2
const LOAD = 1

interface Section {
  name: string
  type: number
  flags: number
  bytes: Buffer
}

const section = (name: string, type: number, flags: number, text = ''): Section => ({
  name,
  type,
  flags,
  bytes: Buffer.from(text),
})

const TEXT = section('.text', PROGBITS, ALLOC, 'code that runs')
const SYMBOLS = section('.symtab', SYMTAB, 0, 'names for a debugger')
const NAMES = section('.shstrtab', STRTAB, 0, '\0.text\0.symtab\0.shstrtab\0')

/** An ELF file of these sections, one after the other, and their headers at its end. */
function elfOf(sections: Section[]): Buffer {
  const file: Buffer[] = [Buffer.alloc(64)]
  const headers = [Buffer.alloc(64)]
  let offset = 64
  for (const { name, type, flags, bytes } of sections) {
    const header = Buffer.alloc(64)
    header.writeUInt32LE(NAMES.bytes.indexOf(`${name}\0`), 0)
    header.writeUInt32LE(type, 4)
    header.writeBigUInt64LE(BigInt(flags), 8)
    header.writeBigUInt64LE(BigInt(offset), 0x18)
    header.writeBigUInt64LE(BigInt(bytes.length), 0x20)
    headers.push(header)
    file.push(bytes)
    offset += bytes.length
  }
  const elf = Buffer.concat([...file, ...headers])
  elf.write('\x7fELF', 'latin1')
  elf.writeBigUInt64LE(BigInt(offset), 0x28)
  elf.writeUInt16LE(headers.length, 0x3c)
  elf.writeUInt16LE(headers.length - 1, 0x3e)
  return elf
}

/** The sections as a reader of the file finds them. */
function sectionsOf(elf: Buffer) {
  const table = Number(elf.readBigUInt64LE(0x28))
  const headers = Array.from({ length: elf.readUInt16LE(0x3c) }, (_, i) =>
    elf.subarray(table + i * 64, table + (i + 1) * 64),
  )
  const place = (header: Buffer) => {
    const [offset, size] = [0x18, 0x20].map((field) => Number(header.readBigUInt64LE(field)))
    return { offset: offset ?? 0, size: size ?? 0 }
  }
  const names = place(headers[elf.readUInt16LE(0x3e)] ?? Buffer.alloc(64))
  return headers.map((header) => {
    const { offset, size } = place(header)
    const name = names.offset + header.readUInt32LE(0)
    const isEmpty = header.readUInt32LE(4) === NOBITS
    return {
      name: elf.toString('latin1', name, elf.indexOf(0, name)),
      isLoaded: (header.readUInt32LE(8) & ALLOC) !== 0,
      header,
      bytes: elf.subarray(offset, offset + (isEmpty ? 0 : size)),
    }
  })
}

/** Where in the file the system finds what it loads. */
function segmentsOf(elf: Buffer): { start: number; end: number }[] {
  const table = Number(elf.readBigUInt64LE(0x20))
  const headers = Array.from({ length: elf.readUInt16LE(0x38) }, (_, i) => elf.subarray(table + i * 56))
  return headers
    .filter((header) => header.readUInt32LE(0) === LOAD)
    .map((header) => {
      const start = Number(header.readBigUInt64LE(8))
      return { start, end: start + Number(header.readBigUInt64LE(0x20)) }
    })
}

test('nothing is left to take off a second time', () => {
  const stripped = stripElf(elfOf([TEXT, SYMBOLS, NAMES]))
  expect(stripElf(stripped)).toEqual(stripped)
})

test('sections whose numbers would change are refused', () => {
  expect(() => stripElf(elfOf([SYMBOLS, TEXT, NAMES]))).toThrow('unknown order')
})

test('sections without names are refused', () => {
  const elf = elfOf([TEXT, NAMES])
  elf.writeUInt16LE(9, 0x3e)
  expect(() => stripElf(elf)).toThrow('without section names')
})

test.skipIf(process.platform !== 'linux')('the Node executable keeps all that is loaded, and runs', () => {
  const node = readFileSync(process.execPath)
  const stripped = stripElf(node)
  expect(stripped.length).toBeLessThan(node.length)

  const before = sectionsOf(node).filter(({ isLoaded }) => isLoaded)
  const after = sectionsOf(stripped)
  expect(after.map(({ name }) => name)).toEqual(['', ...before.map(({ name }) => name), '.shstrtab'])
  // Not toEqual: it looks at each of a hundred million bytes by itself.
  for (const [i, { name, header, bytes }] of before.entries()) {
    expect(after[i + 1]?.header.equals(header), name).toBe(true)
    expect(after[i + 1]?.bytes.equals(bytes), name).toBe(true)
  }
  // The header of the file, at its start, is loaded too, and tells where the sections are.
  for (const { start, end } of segmentsOf(node)) {
    const from = Math.max(start, 64)
    expect(stripped.subarray(from, end).equals(node.subarray(from, end)), `loaded from ${start}`).toBe(true)
  }

  const path = join(inject('root'), 'stripped-node')
  writeFileSync(path, stripped, { mode: 0o755 })
  expect(execFileSync(path, ['--version'], { encoding: 'utf8' })).toBe(`${process.version}\n`)
})
