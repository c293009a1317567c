import { closeSync, openSync } from 'node:fs'
import { errnoOf, Failure } from '../failure.ts'

/** Besides those that a call counts: connections, directories, what libraries open. */
const MORE = 16

/**
 * Checks that so many files can be open at a time, before profiles are requested or claimed for them.
 * @param path of any file or directory
 * @throws {Failure} `disk`
 */
export function checkOpenFiles(path: string, files: number): void {
  const open: number[] = []
  try {
    while (open.length < files + MORE) open.push(openSync(path, 'r'))
  } catch (error) {
    if (errnoOf(error) !== 'EMFILE') return
    const report = process.report.getReport() as { userLimits?: { open_files: { soft: number } } }
    const most = report.userLimits?.open_files.soft ?? 'lower'
    const text = `can't open ${files + MORE} more files at a time: the limit is ${most} open files`
    throw new Failure('open-files', text, error)
  } finally {
    for (const each of open) closeSync(each)
  }
}
