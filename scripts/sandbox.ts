/**
 * A profile service to try the tool against: no account, no network, no leftovers. It prints the commands of the README.
 * With --public-key FILE, profiles are for your own key, with --supply N, there are so many, and with --faults, calls go
 * wrong as they do on a bad day.
 */
import { createPublicKey } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { blocksOf, pageAt, sectionOf } from '../test/docs/pages.ts'
import { type Fault, startService } from '../test/support/service.ts'
import { makeKey } from './stock.ts'

const API_KEY = 'sandbox-key'
/** The ICCIDs of the README. */
const FIRST_ICCID = 1
const SECTIONS = ['## Before the shift', '## During the shift', '## After the shift']

/** How many calls in a row go well: enough for an order of hundreds to end. */
const GOOD_CALLS = 10

/** What each call meets in turn. A line that is cut loses what the service has allocated for that call. */
const FAULTS: readonly Fault[] = [
  { kind: 'status', status: 429, headers: { 'retry-after': '2' } },
  { kind: 'status', status: 500 },
  { kind: 'drip', ms: 100, bytes: 4000 },
  { kind: 'torn' },
  ...Array.from({ length: GOOD_CALLS }, () => ({ kind: 'none' }) as const),
]
const MANY_CALLS = 1000

/** The commands of a section, without comments: zsh would pass them to the program. */
const commandsOf = (heading: string): string[] =>
  blocksOf(sectionOf(pageAt('README.md'), heading))
    .filter(({ language, notRun }) => language === 'sh' && !notRun)
    .flatMap(({ text }) => text.trim().split('\n'))
    .map((line) => line.replace(/ +#.*/, '').replace('-n 1000', `-n ${Math.min(order, 1000)}`))

const values = readOptions()
const supply = Number(values.supply ?? Number.POSITIVE_INFINITY)
if (!(supply > 0)) stop('--supply is not a number')
// What a broken line loses is missing from the supply.
const order = values.faults ? Math.ceil(supply / 2) : supply
// npm runs this in the root of the project.
const keyFile = values['public-key'] && resolve(process.env['INIT_CWD'] ?? '', values['public-key'])

const made = mkdtempSync(join(tmpdir(), 'softsim-sandbox-'))
process.once('exit', () => rmSync(made, { recursive: true, force: true }))
const publicKey = keyFile ? readPublicKey(keyFile) : makeKey(join(made, 'softsim.pem')).publicPem
// Not ./profiles, where real ones may be: made-up profiles must not get among them, nor outlive their key.
const directory = keyFile ? dirname(keyFile) : made
if (existsSync(join(directory, 'profiles')))
  stop(
    `there is a directory ${join(directory, 'profiles')}: delete it if it is from a sandbox, or put the key into a directory of its own`,
  )
const service = await startService({
  apiKeys: [{ key: API_KEY, kind: 'softsim', publicKey }],
  firstIccid: FIRST_ICCID,
  supply,
})
if (values.faults) service.fault(...Array.from({ length: MANY_CALLS }, () => FAULTS).flat())

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, async () => {
    await service.close()
    process.exit()
  })
}

/** This Node: the one on the PATH may be too old for the program. */
const program = `'${process.execPath}' '${resolve('dist/softsim.cjs')}'`
// An alias would be missing in scripts.
const bin = join(made, 'bin')
mkdirSync(bin)
writeFileSync(join(bin, 'softsim'), `#!/bin/sh\nexec ${program} "$@"\n`, { mode: 0o755 })
const isWindows = process.platform === 'win32'
const setup = isWindows
  ? [
      `function softsim { & ${program} @args }`,
      `$env:SOFTSIM_URL = '${service.url}'; $env:SOFTSIM_API_KEY = '${API_KEY}'`,
    ]
  : [`export PATH='${bin}':"$PATH"`, `export SOFTSIM_URL=${service.url} SOFTSIM_API_KEY=${API_KEY}`]

const station = `

A station, where cat stands for the device:

  softsim station --program cat`

const block = (lines: readonly string[]) => lines.map((line) => `  ${line}`).join('\n')

console.log(`A profile service runs on this machine until you press Ctrl-C. Its profiles are for ${keyFile ? 'your key' : 'softsim.pem in the directory below'}. In ${isWindows ? 'PowerShell' : 'another terminal'}, type:

${block([...setup, `cd '${directory}'`])}

Then try the commands of the README:

${SECTIONS.map((heading) => block(commandsOf(heading))).join('\n\n')}${isWindows ? '' : station}

${keyFile ? 'Afterwards, delete the profiles: they are not real.' : 'Ctrl-C here removes that directory, with its key and its profiles.'}`)

function readPublicKey(path: string): string {
  try {
    const key = createPublicKey(readFileSync(path))
    const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
    if (bits < 4096) stop(`the key in ${path} is too small: RSA with 4096 bits is needed`)
    return key.export({ type: 'spki', format: 'pem' }).toString()
  } catch (error) {
    return stop(`can't read the public key ${path}: ${error}`)
  }
}

function readOptions() {
  try {
    return parseArgs({
      options: { 'public-key': { type: 'string' }, supply: { type: 'string' }, faults: { type: 'boolean' } },
    }).values
  } catch {
    return stop('npm run sandbox -- [--public-key FILE] [--supply N] [--faults]')
  }
}

function stop(why: string): never {
  console.error(why)
  process.exit(2)
}
