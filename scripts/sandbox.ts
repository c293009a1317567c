// A profile service to try the tool against: no account, no network, no leftovers.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startService } from '../test/support/service.ts'
import { makeKey } from './stock.ts'

const API_KEY = 'sandbox-key'
/** The Node on the PATH may be too old for the program. */
const PROGRAM = `${join('node_modules', '.bin', 'node')} ${join('dist', 'softsim.cjs')}`

const directory = mkdtempSync(join(tmpdir(), 'softsim-sandbox-'))
const keyPath = join(directory, 'private.pem')
const { publicPem: publicKey } = makeKey(keyPath)
const service = await startService({ apiKeys: [{ key: API_KEY, kind: 'softsim', publicKey }] })
// Not ./profiles, where real ones may be: made-up profiles must not get among them, nor outlive their key.
const profiles = join(directory, 'profiles')

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, async () => {
    await service.close()
    rmSync(directory, { recursive: true, force: true })
    process.exit()
  })
}

console.log(`A profile service runs on this machine until you press Ctrl-C.

  URL          ${service.url}
  API key      ${API_KEY}
  private key  ${keyPath}

In another terminal, after \`npm run build\`, fetch ten profiles:

  ${PROGRAM} fetch -n 10 -u ${service.url} -a ${API_KEY} -o ${profiles}

Then take one profile at a time:

  ${PROGRAM} next -k ${keyPath} -i ${profiles}

Ctrl-C removes the key and these profiles.`)
