/** PE, the executable format of Windows. */
import { NtExecutable, NtExecutableResource, Resource } from 'resedit'

const RT_ICON = 3
const RT_GROUP_ICON = 14
const US_ENGLISH = { lang: 1033, codepage: 1200 }

/**
 * Replaces what Windows shows of the Node executable: its name and version become the program's, and its icon goes.
 * The Authenticode signature goes, too: any change breaks it, and a broken one is worse than none.
 * @param version such as 1.0.0
 */
export function renamePe(exe: Buffer, name: string, version: string): Buffer {
  const executable = NtExecutable.from(exe, { ignoreCert: true })
  const resource = NtExecutableResource.from(executable)
  resource.entries = resource.entries.filter(({ type }) => type !== RT_ICON && type !== RT_GROUP_ICON)
  const [info] = Resource.VersionInfo.fromEntries(resource.entries)
  if (!info) throw new Error('no version in the PE file')
  info.setFileVersion(`${version}.0`)
  info.setProductVersion(`${version}.0`)
  info.removeAllStringValues(US_ENGLISH)
  info.setStringValues(US_ENGLISH, {
    ProductName: name,
    FileDescription: name,
    InternalName: name,
    OriginalFilename: `${name}.exe`,
    FileVersion: version,
    ProductVersion: version,
  })
  info.outputToResourceEntries(resource.entries)
  // Kept at its old length, the section would hide the next one from the injection.
  resource.outputResource(executable, false, true)
  return Buffer.from(executable.generate())
}
