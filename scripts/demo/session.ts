/**
 * A session that is the same in every run: fetch, hand out, hand out again, a panel, who got what. The program is the
 * real one, and so is the profile service, on this machine. Its profiles are always the same.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, copyFileSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startService } from '../../test/support/service.ts'
import { makeKey } from '../stock.ts'

export interface Step {
  /** As a user types it. */
  readonly command: string
  /** What a terminal shows: standard output and standard error, in their order. */
  readonly output: string
}

const API_KEY = 'demo-key'
const FIRST_ICCID = 1

const COMMANDS = [
  'softsim fetch --stock 50 -o profiles',
  'export SOFTSIM_RECEIPT=receipt.jsonl',
  'softsim next -k softsim.pem -i profiles --device SN-0042',
  'softsim next -k softsim.pem -i profiles --device SN-0042',
  'softsim next -k softsim.pem -i profiles --device SN-0043',
  'softsim next -k softsim.pem -i profiles -n 3',
  'softsim status -i profiles --devices',
]

/**
 * Runs the session in a directory of its own, and leaves nothing behind.
 * @param program the words that run softsim
 * @param key the file of a private key, and the public key as the service takes it; without it, a new pair is made
 * @throws {Error} if a command fails
 */
export async function session(
  program: readonly string[],
  key?: { privateKeyPath: string; publicKey: string },
): Promise<Step[]> {
  const directory = mkdtempSync(join(tmpdir(), 'softsim-demo-'))
  const keyPath = join(directory, 'softsim.pem')
  if (key !== undefined) copyFileSync(key.privateKeyPath, keyPath)
  const publicKey = key?.publicKey ?? makeKey(keyPath).publicPem
  const service = await startService({
    apiKeys: [{ key: API_KEY, kind: 'softsim', publicKey }],
    firstIccid: FIRST_ICCID,
  })
  try {
    const steps: Step[] = []
    const env = { ...process.env, SOFTSIM_API_KEY: API_KEY, SOFTSIM_STATION: 'line-1' }
    for (const command of COMMANDS) {
      const [first, ...args] = command.split(' ')
      if (first === 'export') {
        const [name = '', value] = args.join(' ').split('=')
        Object.assign(env, { [name]: value })
        steps.push({ command, output: '' })
        continue
      }
      // The address is another one in every run, so the session does not show it.
      if (args[0] === 'fetch') args.push('-u', service.url)
      steps.push({ command, output: await run([...program, ...args], directory, env) })
    }
    return steps
  } finally {
    await service.close()
    rmSync(directory, { recursive: true })
  }
}

/** Both streams go to one file, so that their lines stay in order. */
async function run(
  [file = '', ...args]: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const path = join(cwd, 'output')
  const output = openSync(path, 'w')
  const child = spawn(file, args, { cwd, env, stdio: ['ignore', output, output] })
  closeSync(output)
  const [code] = await once(child, 'close')
  const text = readFileSync(path, 'utf8')
  if (code !== 0) throw new Error(`${args.join(' ')} ended with exit code ${code}: ${text}`)
  return text
}
