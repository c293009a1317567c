/** A tree of files on the disk, the same on each day and for each user. */
import { chmodSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Contents by path, with forward slashes. */
export type Files = ReadonlyMap<string, string | Buffer>

/** The program and its script, at the top of an archive or in a package's /usr/bin. */
const RUNS = /(^|\/bin\/)softsim(\.exe|-station)?$/

/**
 * Writes files below a directory that does not exist yet. Modes do not depend on the umask, and all time stamps are
 * the given one.
 * @returns the paths of all files and folders below the directory, folders first, sorted
 */
export function writeTree(directory: string, files: Files, time: Date): string[] {
  mkdirSync(directory, { recursive: true })
  for (const [path, contents] of files) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), contents)
  }
  const paths = readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort()
  // What is in a folder first: it changes the folder's time.
  for (const path of ['', ...paths].toReversed()) {
    const each = join(directory, path)
    chmodSync(each, statSync(each).isDirectory() || RUNS.test(path) ? 0o755 : 0o644)
    utimesSync(each, time, time)
  }
  return paths
}
