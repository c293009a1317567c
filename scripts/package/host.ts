const SYSTEMS: Partial<Record<NodeJS.Platform, string>> = { darwin: 'macos', win32: 'win' }

/** The binary that is made for the system at hand. */
export const hostBinary = binaryPath(SYSTEMS[process.platform] ?? process.platform, process.arch)

/** Where the binary for a system is put, by pkg's words for systems. */
export function binaryPath(system: string, arch: string): string {
  return `dist/bin/softsim-${system}-${arch}${system === 'win' ? '.exe' : ''}`
}
