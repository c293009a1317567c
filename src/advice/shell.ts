/** Commands for people to paste, in the language of their system. */

/** Quotes a path for the shell if necessary: sh, or on Windows cmd and PowerShell, which share only double quotes. */
export function quote(path: string, platform: NodeJS.Platform = process.platform): string {
  if (platform !== 'win32') {
    return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
  }
  // A backslash before the closing quote would escape it.
  return /^[\w:.\\/~+-]+$/.test(path) ? path : `"${path.replace(/\\+$/, '$&$&')}"`
}

/** One line for each shell: cmd would take the rest of its line for the value. */
export const setting = (name: string, platform: NodeJS.Platform = process.platform) =>
  platform === 'win32' ? `in cmd: set ${name}=...\nin PowerShell: $env:${name} = "..."` : `export ${name}=...`

export const unsetting = (name: string, platform: NodeJS.Platform = process.platform) =>
  platform === 'win32' ? `in cmd: set ${name}=\nin PowerShell: $env:${name} = $null` : `unset ${name}`

/** Sets a secret: the command prompts for the value, which therefore stays out of the shell history. */
export const asking = (name: string, platform: NodeJS.Platform = process.platform) =>
  platform === 'win32'
    ? `in cmd: set /p ${name}=\nin PowerShell: $env:${name} = Read-Host`
    : `read -rs ${name} && export ${name}`

/** What to check where a directory is not there. */
export const diskPresence = (platform: NodeJS.Platform = process.platform) =>
  platform === 'win32' ? 'that the drive is connected' : 'that the disk is mounted'
