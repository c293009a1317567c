/** Writes the picture of the README to .github, from what the program prints. A second run changes nothing. */
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { draw } from './demo/draw.ts'
import { session } from './demo/session.ts'

writeFileSync('.github/session.svg', draw(await session([process.execPath, resolve('dist/softsim.cjs')])))
