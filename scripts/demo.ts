/**
 * The main job, start to end: a profile service on this machine, a key pair, `softsim fetch`, `softsim next`. It runs
 * the program as a user would, in a temporary directory, and leaves nothing behind.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { startService } from '../test/support/service.ts'
import { makeKey } from './stock.ts'

const PROGRAM = resolve('dist/softsim.cjs')
const API_KEY = 'demo-key'
const directory = mkdtempSync(join(tmpdir(), 'softsim-demo-'))

async function softsim(...args: string[]): Promise<void> {
  console.log(`\n$ softsim ${args.join(' ')}`)
  const options = { cwd: directory, env: { ...process.env, SOFTSIM_API_KEY: API_KEY } }
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [PROGRAM, ...args], options)
  process.stdout.write(stdout + stderr)
}

console.log('Starting a profile service on this machine, with the public key of a new 4096-bit RSA key pair')
const { publicPem: publicKey } = makeKey(join(directory, 'softsim.pem'))
const service = await startService({ apiKeys: [{ key: API_KEY, kind: 'softsim', publicKey }] })
try {
  await softsim('fetch', '-n', '2500', '-o', 'profiles', '-u', service.url)
  await softsim('next', '-k', 'softsim.pem', '-v')
  await softsim('next', '-k', 'softsim.pem', '-v', '--format=json')
  await softsim('next', '-k', 'softsim.pem', '-v', '--no-crc')

  const names = readdirSync(join(directory, 'profiles')).filter((name) => name.endsWith('.json'))
  const used = names.filter((name) => name.startsWith('__'))
  console.log(
    `\nThe directory profiles now holds ${names.length - used.length} unused and ${used.length} used profiles. The used ones:`,
  )
  for (const name of used.sort()) console.log(`  ${name}`)
} finally {
  await service.close()
  rmSync(directory, { recursive: true })
}
