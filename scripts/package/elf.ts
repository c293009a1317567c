/** ELF, the executable format of Linux: only the 64-bit little-endian kind that Node is released as. */

const SECTION_SIZE = 64
const NOBITS = 8
const ALLOC = 0x2n

/**
 * Drops everything that is not loaded at run time (symbols, debug data), as `strip` does, a seventh of the file.
 * Not left to `strip` itself: its output differs from one version of binutils to the next.
 */
export function stripElf(elf: Buffer): Buffer {
  const table = Number(elf.readBigUInt64LE(0x28))
  const count = elf.readUInt16LE(0x3c)
  const headers = Array.from({ length: count }, (_, i) =>
    elf.subarray(table + i * SECTION_SIZE, table + (i + 1) * SECTION_SIZE),
  )
  const loaded = headers.filter((header, i) => i === 0 || header.readBigUInt64LE(8) & ALLOC)
  // Sections name each other by number: theirs stay what they were only while nothing before them goes.
  if (headers.slice(0, loaded.length).some((header, i) => header !== loaded[i]))
    throw new Error('ELF sections in an unknown order')

  const names = headers[elf.readUInt16LE(0x3e)]
  if (!names) throw new Error('ELF file without section names')
  const text = elf.subarray(offsetOf(names), endOf(names))
  const end = align(Math.max(...loaded.map(endOf)))
  const namesHeader = Buffer.from(names)
  namesHeader.writeBigUInt64LE(BigInt(end), 0x18)

  const stripped = Buffer.concat([
    elf.subarray(0, end),
    text,
    Buffer.alloc(align(text.length) - text.length),
    ...loaded,
    namesHeader,
  ])
  stripped.writeBigUInt64LE(BigInt(end + align(text.length)), 0x28)
  stripped.writeUInt16LE(loaded.length + 1, 0x3c)
  stripped.writeUInt16LE(loaded.length, 0x3e)
  return stripped
}

const offsetOf = (header: Buffer) => Number(header.readBigUInt64LE(0x18))

/** Where a section's bytes end in the file; one that is all zeros has none. */
const endOf = (header: Buffer) =>
  offsetOf(header) + (header.readUInt32LE(4) === NOBITS ? 0 : Number(header.readBigUInt64LE(0x20)))

const align = (offset: number) => Math.ceil(offset / 8) * 8
