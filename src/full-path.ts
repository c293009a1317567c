import { resolve } from 'node:path'

/** @returns undefined if the path is relative and the current directory was deleted */
export function fullPath(path: string): string | undefined {
  try {
    return resolve(path)
  } catch {
    return undefined
  }
}
