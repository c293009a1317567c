/** Writes the pictures of the manual to .github, from what the program prints and from text. A second run changes nothing. */
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { draw } from './demo/draw.ts'
import { session } from './demo/session.ts'
import { DIAGRAMS, drawDiagram } from './picture/diagram.ts'

writeFileSync('.github/session.svg', draw(await session([process.execPath, resolve('dist/softsim.cjs')])))
for (const [name, diagram] of Object.entries(DIAGRAMS))
  writeFileSync(`.github/${name}.svg`, drawDiagram(diagram))
