/** How much a message matters: from which `-v` on it is shown. */
export type Level = 0 | 1 | 2 | 3

/** What a use case tells a person while it works. */
export interface Messages {
  warn(text: string): void
  /** Tells something from a verbosity on: 0 always, 1 what it does, 2 each request and file, 3 everything. */
  tell(level: Level, text: string): void
}

/** A number of things in words: `1 profile`, `2 profiles`. */
export const several = (count: number, thing: string) => `${count} ${thing}${count === 1 ? '' : 's'}`

/**
 * A path as the shells of a system take it, quoted where it must be: sh; on Windows cmd and PowerShell, which have double
 * quotes alone in common.
 */
export function quote(path: string, platform: NodeJS.Platform = process.platform): string {
  if (platform !== 'win32') {
    return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
  }
  // A backslash before the closing quote would make that a part of the path.
  return /^[\w:.\\/~+-]+$/.test(path) ? path : `"${path.replace(/\\+$/, '$&$&')}"`
}

/** The command that sets an environment variable, for programs that are started later. */
export const setting = (name: string, platform: NodeJS.Platform = process.platform) =>
  platform === 'win32' ? `in cmd set ${name}=…, in PowerShell $env:${name} = "…"` : `export ${name}=…`

/** The same for a secret: the command asks for the value, so that no list of commands keeps it. */
export const asking = (name: string, platform: NodeJS.Platform = process.platform) =>
  platform === 'win32'
    ? `in cmd set /p ${name}=, in PowerShell $env:${name} = Read-Host`
    : `read -rs ${name} && export ${name}`
