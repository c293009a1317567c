import { crash, run } from './cli/run.ts'
import { exitCode } from './failure.ts'

const WRITE_IS_STUCK_MS = 200

// A parent that runs Node may leave a channel in the environment whose descriptor is something else by now: Node aborts
// as soon as it waits for anything, and that must not be after a claim.
if (process.connected) process.disconnect()

// Other users of a shared directory must be able to work with the files made in it: each is made with the directory's
// rights, and no mask takes any away.
process.umask(0)

process.on('uncaughtException', (error) => process.exit(crash(error)))

run(process.argv.slice(2)).then((code) => {
  // All is written. Node's own way to an end takes the handlers of signals away first, and one that comes then would
  // make a failure of a call that has delivered.
  if (code !== exitCode('interrupted')) process.exit(code)
  process.exitCode = code
  // A write that nobody reads keeps the process alive, even from process.exit; a signal ends it all the same.
  setTimeout(() => process.kill(process.pid, 'SIGINT'), WRITE_IS_STUCK_MS).unref()
})
