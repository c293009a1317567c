/** Bundles src/main.ts and every package it uses into dist/softsim.cjs, one file that runs from anywhere. */
import { chmodSync, writeFileSync } from 'node:fs'
import { bundle } from './package/bundle.ts'

const OUTPUT = 'dist/softsim.cjs'

writeFileSync('dist/meta.json', JSON.stringify(await bundle(OUTPUT)))
chmodSync(OUTPUT, 0o755)
