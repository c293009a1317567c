/** The main job, start to end, as a user sees it. It runs the program in a temporary directory and leaves nothing behind. */
import { resolve } from 'node:path'
import { session } from './demo/session.ts'

console.log('Starting a profile service on this machine, with the public key of a new 4096-bit RSA key pair')
for (const { command, output } of await session([process.execPath, resolve('dist/softsim.cjs')])) {
  console.log(`\n$ ${command}\n${output.trimEnd()}`)
}
console.log('\nThe service, the key and the profiles are removed.')
