/** Mach-O, the executable format of macOS: only the 64-bit little-endian kind. */

const LC_SEGMENT_64 = 0x19
const LC_DYLD_CHAINED_FIXUPS = 0x80000034

/** Where each load command keeps offsets of data in the file's last segment, __LINKEDIT. */
const LINKEDIT_OFFSETS: Record<number, number[]> = {
  2: [8, 16], // LC_SYMTAB
  11: [32, 40, 48, 56, 64, 72], // LC_DYSYMTAB
  29: [8], // LC_CODE_SIGNATURE
  38: [8], // LC_FUNCTION_STARTS
  41: [8], // LC_DATA_IN_CODE
  [0x80000033]: [8], // LC_DYLD_EXPORTS_TRIE
}

/** The room one more entry takes: four bytes, and four more that keep everything behind it aligned. */
const ROOM = 8

/**
 * Gives a segment that was added after linking its place in the table of fixups, which counts the segments: the macOS
 * loader refuses an executable where the two differ ("seg_count does not match number of segments").
 */
export function countSegment(file: Buffer, added: string): Buffer {
  const commands = loadCommands(file)
  const segments = commands.filter((command) => command.readUInt32LE(0) === LC_SEGMENT_64)
  const index = segments.findIndex((segment) => segmentName(segment) === added)
  const fixups = commands.find((command) => command.readUInt32LE(0) === LC_DYLD_CHAINED_FIXUPS)
  const linkedit = segments.at(-1)
  if (!fixups || !linkedit || segmentName(linkedit) !== '__LINKEDIT' || index === -1)
    throw new Error(`no chained fixups, or no segment ${added} before the last`)

  const header = fixups.readUInt32LE(8)
  const starts = header + file.readUInt32LE(header + 4)
  const count = file.readUInt32LE(starts)
  if (count !== segments.length - 1) throw new Error(`${count} segments with fixups of ${segments.length}`)

  const offsets = Array.from({ length: count }, (_, i) => file.readUInt32LE(starts + 4 + i * 4))
  const moved = offsets.map((offset) => (offset === 0 ? 0 : offset + ROOM)).toSpliced(index, 0, 0)
  const table = Buffer.alloc(4 + count * 4 + ROOM)
  for (const [i, value] of [moved.length, ...moved].entries()) table.writeUInt32LE(value, i * 4)

  const end = starts + 4 + count * 4
  for (const command of commands)
    for (const field of LINKEDIT_OFFSETS[command.readUInt32LE(0)] ?? [])
      if (command.readUInt32LE(field) >= end) grow(command, field)
  for (const field of [8, 12]) grow(file, header + field)
  grow(fixups, 12)
  const size = linkedit.readBigUInt64LE(48) + BigInt(ROOM)
  linkedit.writeBigUInt64LE(size, 48)
  linkedit.writeBigUInt64LE(((size + 0xfffn) / 0x1000n) * 0x1000n, 32)
  return Buffer.concat([file.subarray(0, starts), table, file.subarray(end)])
}

const grow = (bytes: Buffer, field: number) => bytes.writeUInt32LE(bytes.readUInt32LE(field) + ROOM, field)

/** The load commands, each a view of the file: what is written there changes the file. */
function loadCommands(file: Buffer): Buffer[] {
  const commands: Buffer[] = []
  let offset = 32
  for (let left = file.readUInt32LE(16); left > 0; left--) {
    const size = file.readUInt32LE(offset + 4)
    commands.push(file.subarray(offset, offset + size))
    offset += size
  }
  return commands
}

const segmentName = (segment: Buffer) => segment.toString('latin1', 8, 24).replace(/\0+$/, '')
