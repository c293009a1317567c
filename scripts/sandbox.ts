// A profile service to try the tool against: no account, no network, no leftovers. It prints the commands of the README.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { blocksOf, pageAt, sectionOf } from '../test/docs/pages.ts'
import { startService } from '../test/support/service.ts'
import { makeKey } from './stock.ts'

const API_KEY = 'sandbox-key'
/** The ICCIDs of the README. */
const FIRST_ICCID = 1
const SECTIONS = ['## Before the shift', '## During the shift', '## When something goes wrong']

/** The commands of a section, without comments: zsh would pass them to the program. */
const commandsOf = (heading: string): string[] =>
  blocksOf(sectionOf(pageAt('README.md'), heading))
    .filter(({ language }) => language === 'sh')
    .flatMap(({ text }) => text.trim().split('\n'))
    .map((line) => line.replace(/ +#.*/, ''))

// Not ./profiles, where real ones may be: made-up profiles must not get among them, nor outlive their key.
const directory = mkdtempSync(join(tmpdir(), 'softsim-sandbox-'))
const { publicPem: publicKey } = makeKey(join(directory, 'softsim.pem'))
const service = await startService({
  apiKeys: [{ key: API_KEY, kind: 'softsim', publicKey }],
  firstIccid: FIRST_ICCID,
})

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, async () => {
    await service.close()
    rmSync(directory, { recursive: true, force: true })
    process.exit()
  })
}

/** This Node: the one on the PATH may be too old for the program. */
const program = `'${process.execPath}' '${resolve('dist/softsim.cjs')}'`
// An alias would be missing in the scripts of the stations.
const bin = join(directory, 'bin')
mkdirSync(bin)
writeFileSync(join(bin, 'softsim'), `#!/bin/sh\nexec ${program} "$@"\n`, { mode: 0o755 })
const [shell, setup] =
  process.platform === 'win32'
    ? [
        'PowerShell',
        [
          `function softsim { & ${program} @args }`,
          `$env:SOFTSIM_URL = '${service.url}'; $env:SOFTSIM_API_KEY = '${API_KEY}'`,
          `cd '${directory}'`,
        ],
      ]
    : [
        'another terminal',
        [
          `export PATH='${bin}':"$PATH"`,
          `export SOFTSIM_URL=${service.url} SOFTSIM_API_KEY=${API_KEY}`,
          `cd '${directory}'`,
        ],
      ]

const station = `

A station, where cat stands for the device:

  PROGRAM=cat '${resolve('scripts/stations/station.sh')}'`

const block = (lines: readonly string[]) => lines.map((line) => `  ${line}`).join('\n')

console.log(`A profile service runs on this machine until you press Ctrl-C. In ${shell}, type:

${block(setup)}

Then try the commands of the README:

${SECTIONS.map((heading) => block(commandsOf(heading))).join('\n\n')}${process.platform === 'linux' ? station : ''}

Ctrl-C here removes that directory, with its key and its profiles.`)
