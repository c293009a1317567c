/** Writes the man page and the completions for shells, dist/manual, from the program's table of options. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bashCompletion, fishCompletion, powershellCompletion, zshCompletion } from './manual/completions.ts'
import { manPage } from './manual/man.ts'
import { commands } from './manual/table.ts'
import { commitTime } from './package/commit-time.ts'

const OUTPUT = 'dist/manual'

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const files = {
  'softsim.1': manPage(commands, version, commitTime(), 'the folder of this page'),
  'completions/softsim.bash': bashCompletion(commands),
  'completions/_softsim': zshCompletion(commands),
  'completions/softsim.fish': fishCompletion(commands),
  'completions/softsim.ps1': powershellCompletion(commands),
}
rmSync(OUTPUT, { recursive: true, force: true })
mkdirSync(join(OUTPUT, 'completions'), { recursive: true })
for (const [name, text] of Object.entries(files)) writeFileSync(join(OUTPUT, name), text)
