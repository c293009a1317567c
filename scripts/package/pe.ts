/** PE, the executable format of Windows. */

/**
 * Takes the Authenticode signature off: the data after the last section, and the directory entry that points to it.
 * What is injected later breaks the signature, and a broken one is worse than none.
 */
export function unsignPe(exe: Buffer): Buffer {
  const optionalHeader = exe.readUInt32LE(0x3c) + 24
  if (exe.readUInt16LE(optionalHeader) !== 0x20b) throw new Error('not a 64-bit PE file')
  const certificates = optionalHeader + 112 + 4 * 8
  const offset = exe.readUInt32LE(certificates)
  const size = exe.readUInt32LE(certificates + 4)
  if (size === 0) return exe
  if (offset + size !== exe.length) throw new Error('the signature is not the last thing in the PE file')

  const unsigned = Buffer.from(exe.subarray(0, offset))
  unsigned.fill(0, certificates, certificates + 8)
  unsigned.writeUInt32LE(0, optionalHeader + 64) // the checksum: 0 is "none", and only drivers need one
  return unsigned
}
