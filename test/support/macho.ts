/** Mach-O files made by hand, and what a reader finds in such a file: as little of it as countSegment is about. */

const SEGMENT = 0x19
const SYMTAB = 0x2
const DYSYMTAB = 0xb
const CHAINED_FIXUPS = 0x80000034

/** The load commands that hold an offset and a size, and what is there. */
const DATA: [command: number, name: string][] = [
  [0x80000033, 'exports'],
  [0x26, 'function starts'],
  [0x29, 'data in code'],
  [0x1d, 'signature'],
]

const PAGE = 0x1000
const LINKEDIT_AT = 2 * PAGE
const FIXUPS_OF_DATA = '<fixups of __DATA>'

interface Made {
  /** What the table of fixups takes for the number of segments. */
  counted: number
  hasFixups?: boolean
}

/** A file of these segments. Its __DATA has fixups, and __LINKEDIT fills one page to the last byte. */
export function machO(segments: string[], { counted, hasFixups = true }: Made): Buffer {
  const linkedit = Buffer.alloc(PAGE)
  let used = 0
  const put = (bytes: Buffer | string) => {
    const at = used
    used += linkedit.fill(bytes, at, at + bytes.length) && bytes.length
    return LINKEDIT_AT + at
  }
  const starts = Buffer.alloc(4 + counted * 4)
  starts.writeUInt32LE(counted, 0)
  const data = segments.filter((name) => name !== 'NODE_SEA').indexOf('__DATA')
  if (data !== -1) starts.writeUInt32LE(starts.length, 4 + data * 4)
  const rest = [starts, withSize(FIXUPS_OF_DATA), '<imports...>', '<names of them>\0'].map((part) =>
    Buffer.from(part),
  )
  const [table = 0, infos = 0, imports = 0] = rest.map(({ length }) => length)
  const offsets = [0, 32, 32 + table + infos, 32 + table + infos + imports, 3]
  const fixups = Buffer.concat([words(offsets, 32), ...rest])

  const commands = segments.map((name) => segment(name, name === '__LINKEDIT' ? LINKEDIT_AT : 0))
  if (hasFixups) commands.push(words([CHAINED_FIXUPS, 16, put(fixups), fixups.length]))
  for (const [command, name] of DATA.slice(0, -1))
    commands.push(words([command, 16, put(`<${name}>`), name.length + 2]))
  const [symbols, indirect, strings] = [put('<symbol>'.repeat(4)), put('<1><2>..'), put('<strings>')]
  commands.push(words([SYMTAB, 24, symbols, 2, strings, 9]))
  commands.push(words([DYSYMTAB, 80, 0, 2, 2, 0, 2, 0, 0, 0, 0, 0, 0, 0, indirect, 2, 0, 0, 0, 0]))
  commands.push(words([0x1d, 16, put('<signature>'), 11]))

  const header = words([0xfeedfacf, 0x1000007, 3, 2, commands.length], 32)
  const start = Buffer.concat([header, ...commands])
  return Buffer.concat([start, Buffer.alloc(LINKEDIT_AT - start.length, 0xaa), linkedit])
}

/** The load commands of this kind. */
export function commandsOf(file: Buffer, kind: number): Buffer[] {
  const commands: Buffer[] = []
  for (let left = file.readUInt32LE(16), at = 32; left > 0; left--) {
    const size = file.readUInt32LE(at + 4)
    if (file.readUInt32LE(at) === kind) commands.push(file.subarray(at, at + size))
    at += size
  }
  return commands
}

export const segmentsOf = (file: Buffer) =>
  commandsOf(file, SEGMENT).map((command) => ({
    name: textAt(command, 8),
    memory: Number(command.readBigUInt64LE(32)),
    bytes: Number(command.readBigUInt64LE(48)),
  }))

/** The fixups of each segment, as the loader finds them. */
export function startsOf(file: Buffer): (string | undefined)[] {
  const table = tableOf(file)
  return Array.from({ length: file.readUInt32LE(table) }, (_, i) => {
    const offset = file.readUInt32LE(table + 4 + i * 4)
    if (offset === 0) return undefined
    return file.toString('latin1', table + offset + 4, table + offset + file.readUInt32LE(table + offset))
  })
}

/** How many bytes the fixups take. */
export const fixupsSize = (file: Buffer) => fixupsOf(file).readUInt32LE(12)

export interface Part {
  name: string
  offset: number
  text: string
}

/** What the load commands find behind the table of fixups. */
export function linkeditOf(file: Buffer): Part[] {
  const part = (name: string, offset: number, size: number) => ({
    name,
    offset,
    text: file.toString('latin1', offset, offset + size),
  })
  const header = fixupsOf(file).readUInt32LE(8)
  const end = header + fixupsSize(file)
  const [imports, names] = [8, 12].map((field) => header + file.readUInt32LE(header + field)) as [
    number,
    number,
  ]
  const parts = [part('imports', imports, names - imports), part('names of imports', names, end - names)]
  for (const [kind, name] of DATA) {
    for (const command of commandsOf(file, kind))
      parts.push(part(name, command.readUInt32LE(8), command.readUInt32LE(12)))
  }
  for (const command of commandsOf(file, SYMTAB)) {
    const [symbols, count, strings, size] = [8, 12, 16, 20].map((field) => command.readUInt32LE(field))
    parts.push(part('symbols', symbols ?? 0, 16 * (count ?? 0)), part('strings', strings ?? 0, size ?? 0))
  }
  for (const command of commandsOf(file, DYSYMTAB))
    parts.push(part('indirect symbols', command.readUInt32LE(56), 4 * command.readUInt32LE(60)))
  return parts
}

/** The names of what is imported. */
export function importsOf(file: Buffer): string[] {
  const header = fixupsOf(file).readUInt32LE(8)
  const [imports, names, count] = wordsAt(file, header + 8, 3)
  return wordsAt(file, header + imports, count).map((each) => nameAt(file, header + names + (each >>> 9)))
}

/** All symbols, each with its name in the place of the number that stands for it. */
export function symbolsOf(file: Buffer): string {
  const [command = Buffer.alloc(24)] = commandsOf(file, SYMTAB)
  const [symbols, count, strings] = wordsAt(command, 8, 3)
  return Array.from({ length: count }, (_, i) => {
    const at = symbols + i * 16
    return nameAt(file, strings + file.readUInt32LE(at)) + file.toString('hex', at + 4, at + 16)
  }).join()
}

function fixupsOf(file: Buffer): Buffer {
  const [command] = commandsOf(file, CHAINED_FIXUPS)
  if (!command) throw new Error('no chained fixups')
  return command
}

function tableOf(file: Buffer): number {
  const header = fixupsOf(file).readUInt32LE(8)
  return header + file.readUInt32LE(header + 4)
}

function segment(name: string, at: number): Buffer {
  const command = words([SEGMENT, 72], 72)
  command.write(name, 8, 'latin1')
  for (const [i, value] of [at, PAGE, at, PAGE].entries()) command.writeBigUInt64LE(BigInt(value), 24 + i * 8)
  return command
}

function words(values: number[], size = values.length * 4): Buffer {
  const bytes = Buffer.alloc(size)
  for (const [i, value] of values.entries()) bytes.writeUInt32LE(value, i * 4)
  return bytes
}

/** So many numbers of four bytes. */
const wordsAt = (bytes: Buffer, at: number, count: number) =>
  Array.from({ length: count }, (_, i) => bytes.readUInt32LE(at + i * 4)) as [number, number, number]

const nameAt = (bytes: Buffer, at: number) => bytes.toString('latin1', at, bytes.indexOf(0, at))

/** A text behind the size of both, as the fixups of a segment begin. */
const withSize = (text: string) => Buffer.concat([words([text.length + 4]), Buffer.from(text)])

const textAt = (bytes: Buffer, at: number) => bytes.toString('latin1', at, at + 16).replace(/\0+$/, '')
