/**
 * Writes the man pages of an archive, dist/manual/*.1, and the completions for shells, dist/manual/completions, from the
 * program's table of options; and the scripts for stations, dist/stations, those for Windows with the help of the other.
 */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bashCompletion, fishCompletion, powershellCompletion, zshCompletion } from './manual/completions.ts'
import { manPage, stationPage, withHelp } from './manual/man.ts'
import { commands } from './manual/table.ts'
import { commitTime } from './package/commit-time.ts'

const OUTPUT = 'dist/manual'
const STATIONS = 'dist/stations'

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const files = {
  'softsim.1': manPage(commands, version, commitTime(), 'the folder of this page'),
  'softsim-station.1': stationPage(version, commitTime()),
  'completions/softsim.bash': bashCompletion(commands),
  'completions/_softsim': zshCompletion(commands),
  'completions/softsim.fish': fishCompletion(commands),
  'completions/softsim.ps1': powershellCompletion(commands),
}
rmSync(OUTPUT, { recursive: true, force: true })
mkdirSync(join(OUTPUT, 'completions'), { recursive: true })
for (const [name, text] of Object.entries(files)) writeFileSync(join(OUTPUT, name), text)
mkdirSync(STATIONS, { recursive: true })
for (const name of globSync('softsim-station*', { cwd: 'scripts/stations' }))
  writeFileSync(join(STATIONS, name), withHelp(readFileSync(join('scripts/stations', name), 'utf8')))
