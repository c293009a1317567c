import { run } from './cli.ts'

run(process.argv.slice(2)).then((code) => {
  process.exitCode = code
})
