/** Runs the command line, and ends the process with its exit code. */
import { crash, run } from './cli/run.ts'
import { exitCode } from './failure.ts'
import { clearUmask } from './umask.ts'

const WRITE_IS_STUCK_MS = 200

clearUmask()

process.on('uncaughtException', (error) => process.exit(crash(error)))

run(process.argv.slice(2)).then((code) => {
  // All output is written. Node's normal exit first removes the signal handlers, and a signal at that point would
  // turn a delivered profile into a failure.
  if (code !== exitCode('interrupted')) process.exit(code)
  process.exitCode = code
  // A pending write that nobody reads keeps the process alive, even after process.exit. A signal still ends it.
  setTimeout(() => process.kill(process.pid, 'SIGINT'), WRITE_IS_STUCK_MS).unref()
})
