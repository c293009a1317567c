import { crash, run } from './cli.ts'
import { exitCode } from './errors.ts'

const STUCK_AFTER_MS = 200

process.on('uncaughtException', (error) => process.exit(crash(error)))

run(process.argv.slice(2)).then((code) => {
  process.exitCode = code
  if (code !== exitCode('interrupted')) return
  // A write that nobody reads keeps the process alive, even from process.exit; a signal ends it all the same.
  setTimeout(() => process.kill(process.pid, 'SIGINT'), STUCK_AFTER_MS).unref()
})
