import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fullPath } from '../../full-path.ts'
import { exists } from '../directory-entries.ts'
import { parseReceipt } from './line.ts'

/**
 * Whether receipts say that a directory has handed out, or moved, a profile that is unused in it.
 * @param path their file. One that is missing, or can't be read, says nothing
 */
export function nameUnused(path: string, directory: string): boolean {
  const full = fullPath(directory)
  try {
    // A pipe would wait.
    if (!statSync(path).isFile()) return false
    return readFileSync(path, 'utf8')
      .split('\n')
      .flatMap((line) => parseReceipt(line, path) ?? [])
      .some(({ directory: from, file }) => from === full && isUnused(directory, file))
  } catch {
    return false
  }
}

const isUnused = (directory: string, used: string) =>
  used.startsWith('__') && exists(join(directory, used.slice(2)))
