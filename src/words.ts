/** The number of `-v` options from which a message is shown. */
export type Level = 0 | 1 | 2 | 3

export interface Messages {
  warn(text: string): void
  /** Prints a message from a verbosity on: 0 always, 1 each step, 2 each request and file, 3 everything. */
  tell(level: Level, text: string): void
}

export const several = (count: number, thing: string) => `${count} ${thing}${count === 1 ? '' : 's'}`

/** Rounded up, in the unit that a person would use. */
export function durationOf(ms: number): string {
  const seconds = Math.ceil(ms / 1000)
  if (seconds < 100) return `${seconds} s`
  const minutes = Math.ceil(seconds / 60)
  return minutes < 100 ? `${minutes} min` : `${Math.ceil(minutes / 60)} h`
}

/** In the unit that a person would use. */
export const sizeOf = (bytes: number) =>
  bytes < 1e6
    ? `${Math.ceil(bytes / 1e3)} kB`
    : bytes < 1e9
      ? `${(bytes / 1e6).toFixed(1)} MB`
      : `${(bytes / 1e9).toFixed(1)} GB`

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

/** The same for a secret: the command prompts for the value, which therefore stays out of the shell history. */
export const asking = (name: string, platform: NodeJS.Platform = process.platform) =>
  platform === 'win32'
    ? `in cmd: set /p ${name}=\nin PowerShell: $env:${name} = Read-Host`
    : `read -rs ${name} && export ${name}`

/** The command that prints a variable with a key. `set` and `echo` of cmd would lose its line breaks. */
export const keyOfVariable = (name: string, platform: NodeJS.Platform = process.platform) =>
  platform === 'win32' ? `in PowerShell $env:${name}` : `printenv ${name}`

/** What goes before a command that refuses a private key that other users can read. */
export const keepingPrivate = (path: string, platform: NodeJS.Platform = process.platform) =>
  platform === 'win32' ? '' : `chmod 600 ${quote(path, platform)} && `

export const fromPutty = (path: string, platform: NodeJS.Platform = process.platform) =>
  platform === 'win32'
    ? 'in PuTTYgen, use Conversions > Export OpenSSH key and save it as softsim.pem; then run: ssh-keygen -p -m PEM -f softsim.pem'
    : `convert it: puttygen ${quote(path, platform)} -O private-openssh -o softsim.pem && ssh-keygen -p -m PEM -f softsim.pem`

/** Converts a key that was saved as UTF-16. */
export const toAscii = (path: string, platform: NodeJS.Platform = process.platform) =>
  platform === 'win32'
    ? `convert it: in PowerShell, Get-Content ${quote(path, platform)} | Set-Content -Encoding ascii softsim.ascii.pem`
    : `convert it: (umask 077; iconv -f UTF-16 -t ASCII ${quote(path, platform)} > softsim.ascii.pem)`

/** What to check where a directory is not there. */
export const diskPresence = (platform: NodeJS.Platform = process.platform) =>
  platform === 'win32' ? 'that the drive is connected' : 'that the disk is mounted'

/** How a name ends that a person can't see; undefined if it ends as usual. */
export function oddEnd(text: string): string | undefined {
  if (text.endsWith('\r')) return 'ends in a carriage return: the script has Windows line ends'
  if (text.endsWith('\n')) return 'ends in a line break'
  return text.endsWith(' ') ? 'ends in a space' : undefined
}

/** The text on one line, with nothing in it that a terminal would obey. */
export function printable(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to escape
    /[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u{${character.charCodeAt(0).toString(16)}}`,
  )
}
