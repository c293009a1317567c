import { resolve } from 'node:path'

/** What to do where a relative path leads nowhere because the current directory was deleted. */
export const LEAVE_DELETED = 'change to a directory that exists: the current one was deleted'

/** @returns undefined if the path is relative and the current directory was deleted */
export function fullPath(path: string): string | undefined {
  try {
    return resolve(path)
  } catch {
    return undefined
  }
}
