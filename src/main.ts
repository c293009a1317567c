import { fstatSync } from 'node:fs'
import { UsageError } from './advice/advice.ts'
import { exitCode } from './advice/exit-codes.ts'
import { unsetting } from './advice/shell.ts'
import { crash, run } from './cli/run.ts'

const WRITE_IS_STUCK_MS = 200

// A parent process that runs Node may leave an IPC channel in the environment whose descriptor now belongs to
// something else. Node aborts as soon as it waits on it. That must not happen after a claim.
if (process.connected) {
  if (isInUse((process.channel as { fd?: number }).fd)) {
    const hint = unsetting('NODE_CHANNEL_FD')
    process.exit(crash(new UsageError('NODE_CHANNEL_FD names a file of softsim itself', hint)))
  }
  process.disconnect()
}

// Files must stay usable for other users of a shared directory. Each file gets the mode of the directory, which no
// umask may reduce.
process.umask(0)

process.on('uncaughtException', (error) => process.exit(crash(error)))

run(process.argv.slice(2)).then((code) => {
  // All output is written. Node's normal exit first removes the signal handlers, and a signal at that point would
  // turn a delivered profile into a failure.
  if (code !== exitCode('interrupted')) process.exit(code)
  process.exitCode = code
  // A pending write that nobody reads keeps the process alive, even after process.exit. A signal still ends it.
  setTimeout(() => process.kill(process.pid, 'SIGINT'), WRITE_IS_STUCK_MS).unref()
})

/**
 * Whether it can be a descriptor that Node has opened for itself, since the one of the parent process is closed. To close
 * it would end the process later. Node's are pipes, or no files at all.
 */
function isInUse(descriptor: number | undefined): boolean {
  if (process.platform === 'win32' || descriptor === undefined || descriptor < 0) return false
  const status = fstatSync(descriptor)
  return !(status.isSocket() || status.isFile() || status.isCharacterDevice() || status.isDirectory())
}
