/** Runs the command line, and ends the process with its exit code. */
import { crash, run } from './cli/run.ts'
import { exitCode } from './failure.ts'

const WRITE_IS_STUCK_MS = 200

/** Files must stay usable for other users of a shared directory: each gets the mode of it, which no umask may reduce. */
const umask = process.umask(0)

process.on('uncaughtException', (error) => process.exit(crash(error)))

run(process.argv.slice(2), umask).then((code) => {
  // All output is written. Node's normal exit first removes the signal handlers, and a signal at that point would
  // turn a delivered profile into a failure.
  if (code !== exitCode('interrupted')) process.exit(code)
  process.exitCode = code
  // A pending write that nobody reads keeps the process alive, even after process.exit. A signal still ends it.
  setTimeout(() => process.kill(process.pid, 'SIGINT'), WRITE_IS_STUCK_MS).unref()
})
