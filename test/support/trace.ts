/** System-call traces of the program, with strace. */
import { spawnSync } from 'node:child_process'

/** What changes a disk or prints. Names differ from machine to machine: those unknown here are passed over. */
const SYSCALLS =
  'rename renameat renameat2 link linkat unlink unlinkat mkdir mkdirat rmdir fsync fdatasync syncfs write pwrite64 openat'

/** One system call in a trace. */
export interface Call {
  readonly name: string
  /** With the paths of descriptors, as strace writes them: `22</tmp/profiles>`. */
  readonly args: string
  /** Undefined where the process was killed in it. */
  readonly result: number | undefined
}

/**
 * The words that run another command line traced into a file. strace passes over a name with a question mark if this
 * machine does not have it.
 * @param more words for strace
 */
export const traced = (log: string, more: readonly string[] = []): string[] => [
  ...['strace', '-f', '--seccomp-bpf', '-qq', '-y', '-s', '64', '-o', log],
  ...['-e', `trace=${SYSCALLS.replaceAll(/\w+/g, '?$&').replaceAll(' ', ',')}`, ...more],
]

const LINE = /^(\d+) +(\w+)\((.*)$/
const RESUMED = /^(\d+) +<\.\.\. (\w+) resumed>(.*)$/
const RESULT = /\) += (-?\d+|\?)/

/** Reads a trace. Calls stand in the order in which they began. */
export function readCalls(log: string): Call[] {
  const calls: Call[] = []
  /** By thread: the one that has begun and not ended. */
  const open = new Map<number, number>()
  for (const line of log.split('\n')) {
    const resumed = RESUMED.exec(line)
    if (resumed !== null) {
      const at = open.get(Number(resumed[1]))
      const call = at === undefined ? undefined : calls[at]
      if (at !== undefined && call !== undefined) calls[at] = { ...call, ...outcomeOf(resumed[3] ?? '') }
      continue
    }
    const began = LINE.exec(line)
    if (began === null) continue
    const [, thread, name = '', rest = ''] = began
    if (rest.includes('<unfinished ...>')) open.set(Number(thread), calls.length)
    calls.push({ name, args: rest.replace(RESULT, ''), ...outcomeOf(rest) })
  }
  return calls
}

function outcomeOf(text: string): Pick<Call, 'result'> {
  const result = RESULT.exec(text)?.[1]
  return { result: result === undefined || result === '?' ? undefined : Number(result) }
}

/** Why nothing can be traced here; undefined where it can. */
export function whyNoTrace(): string | undefined {
  if (process.platform !== 'linux') return 'strace runs only on Linux'
  const [strace = '', ...words] = [...traced('/dev/null'), process.execPath, '-v']
  const { error, status, stderr } = spawnSync(strace, words, { encoding: 'utf8' })
  if (error !== undefined) return 'there is no strace'
  return status === 0 ? undefined : `strace can't trace here: ${stderr.trim().split('\n')[0]}`
}
