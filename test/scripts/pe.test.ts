/** What Windows shows of the executable: softsim, not the Node that it is made of. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { NtExecutable, NtExecutableResource, Resource } from 'resedit'
import { expect, test } from 'vitest'
import { renamePe } from '../../scripts/package/pe.ts'

const ROOT = join(import.meta.dirname, '../..')
const SOFTSIM = join(ROOT, 'dist/bin/softsim-win-x64.exe')

const ICON = 3
const GROUP_ICON = 14
const VERSION = 16
const MANIFEST = 24
const US_ENGLISH = { lang: 1033, codepage: 1200 }
const SIGNATURE = Buffer.from('who signed it...')

/** Where a PE file says where its signature is. */
const certificates = (exe: Buffer) => exe.readUInt32LE(0x3c) + 24 + 112 + 4 * 8

/** A signed program with Node's name, icon and manifest. */
function node(): Buffer {
  const program = NtExecutable.createEmpty(false, false)
  const resource = NtExecutableResource.from(program)
  for (const type of [ICON, GROUP_ICON, MANIFEST]) {
    const bin = Uint8Array.from(Buffer.alloc(5000, type)).buffer
    resource.entries.push({ type, id: 1, lang: US_ENGLISH.lang, codepage: 0, bin })
  }
  const info = Resource.VersionInfo.createEmpty()
  info.lang = US_ENGLISH.lang
  info.setFileVersion('24.21.0.0')
  info.setStringValues(US_ENGLISH, { CompanyName: 'Node.js', ProductName: 'Node.js' })
  info.outputToResourceEntries(resource.entries)
  resource.outputResource(program)
  const exe = Buffer.concat([Buffer.from(program.generate()), SIGNATURE])
  exe.writeUInt32LE(exe.length - SIGNATURE.length, certificates(exe))
  exe.writeUInt32LE(SIGNATURE.length, certificates(exe) + 4)
  return exe
}

function entriesIn(exe: Buffer) {
  return NtExecutableResource.from(NtExecutable.from(exe)).entries
}

function expectSoftsim(exe: Buffer): void {
  const [info] = Resource.VersionInfo.fromEntries(entriesIn(exe))
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const [major, minor, patch] = version.split('.').map(Number)
  expect(info?.fixedInfo.fileVersionMS).toBe(major * 0x10000 + minor)
  expect(info?.fixedInfo.fileVersionLS).toBe(patch * 0x10000)
  expect(info?.getStringValues(US_ENGLISH)).toEqual({
    ...{ ProductName: 'softsim', FileDescription: 'softsim', InternalName: 'softsim' },
    ...{ OriginalFilename: 'softsim.exe', FileVersion: version, ProductVersion: version },
  })
}

test('the name and the version are the program’s; the icon and the signature go, and the rest stays', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const before = node()
  const after = renamePe(before, 'softsim', version)
  expectSoftsim(after)
  expect(entriesIn(after).map(({ type }) => type)).toEqual([VERSION, MANIFEST])
  expect(after.readBigUInt64LE(certificates(after))).toBe(0n)
  expect(after.includes(SIGNATURE)).toBe(false)
  expect(before).toEqual(node())
  expect(renamePe(before, 'softsim', version)).toEqual(after)
})

test.skipIf(!existsSync(SOFTSIM))('the finished executable has the program and its name', () => {
  const exe = readFileSync(SOFTSIM)
  expectSoftsim(exe)
  expect(entriesIn(exe).map(({ id }) => id)).toContain('NODE_SEA_BLOB')
})
