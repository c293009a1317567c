/** The number of `-v` options from which a message is shown. */
export type Level = 0 | 1 | 2 | 3

export interface Messages {
  warn(text: string): void
  /** Prints a message from a verbosity on: 0 always, 1 each step, 2 each request and file, 3 everything. */
  tell(level: Level, text: string): void
}

export const several = (count: number, thing: string) => `${count} ${thing}${count === 1 ? '' : 's'}`

/** Quotes a path for the shell if necessary: sh, or on Windows cmd and PowerShell, which share only double quotes. */
export function quote(path: string, platform: NodeJS.Platform = process.platform): string {
  if (platform !== 'win32') {
    return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
  }
  // A backslash before the closing quote would escape it.
  return /^[\w:.\\/~+-]+$/.test(path) ? path : `"${path.replace(/\\+$/, '$&$&')}"`
}

export const setting = (name: string, platform: NodeJS.Platform = process.platform) =>
  platform === 'win32' ? `in cmd set ${name}=…, in PowerShell $env:${name} = "…"` : `export ${name}=…`

/** The same for a secret: the command prompts for the value, which therefore stays out of the shell history. */
export const asking = (name: string, platform: NodeJS.Platform = process.platform) =>
  platform === 'win32'
    ? `in cmd set /p ${name}=, in PowerShell $env:${name} = Read-Host`
    : `read -rs ${name} && export ${name}`

/** The text on one line, with nothing in it that a terminal would obey. */
export function printable(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to escape
    /[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u{${character.charCodeAt(0).toString(16)}}`,
  )
}
