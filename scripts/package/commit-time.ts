import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'

/**
 * When the commit was made, so that what is made of one commit is always the same. In a copy without git, it is the
 * time of package.json.
 */
export function commitTime(): Date {
  const { status, stdout } = spawnSync('git', ['log', '-1', '--format=%ct'], { encoding: 'utf8' })
  return status === 0 ? new Date(Number(stdout) * 1000) : statSync('package.json').mtime
}
